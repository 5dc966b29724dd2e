#include "campaign.h"

#include <canopy/base/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include "composition.h"
#include "faulty.h"
#include "random_operations.h"
#include "shrink.h"

namespace canopy::check {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMostJobs = 256;
/// Seconds of processor time. An episode takes a second or less, under a sanitizer a few.
constexpr unsigned kPatience = 30;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

/// The state that the processes of a campaign share.
struct Board {
  std::atomic<std::uint64_t> next = 0;        ///< number of the next episode
  std::atomic<std::uint64_t> failed = kNone;  ///< the earliest episode that failed
  std::atomic<bool> stop = false;
  struct Worker {
    std::atomic<std::uint64_t> episode = kNone, operations = 0, episodes = 0;
    Reached reached;
    std::array<char, 1024> sentence{};  ///< error message of its last episode that failed
  };
  std::array<Worker, kMostJobs> workers;
};

/// The lines of an episode's operations. Each is written before its operation runs, so that a crash leaves it.
struct Log {
  std::atomic<std::size_t> size = 0;
  std::array<char, std::size_t{64} << 20> text;
};

void note_failure(Board& board, std::uint64_t episode) {
  std::uint64_t earliest = board.failed;
  while (episode < earliest && !board.failed.compare_exchange_weak(earliest, episode)) {
  }
}

/// An engine and the settings of its use.
struct Episode {
  std::string engine;
  std::uint64_t seed = 0, operations = 0;
  RandomOperations::Settings settings;
};

Episode episode_of(const Options& options, std::uint64_t number, const Registry& registry) {
  Random random(splitmix64(splitmix64(options.seed) + number));
  Episode episode;
  const std::uint64_t engine_seed = random.next();
  episode.engine = options.engines.empty()
                       ? made_up_engine(engine_seed, registry)
                       : made_small(options.engines[number % options.engines.size()], engine_seed, registry);
  episode.seed = random.next();
  episode.operations = options.operations ? std::min(kEpisode, options.operations - number * kEpisode) : kEpisode;
  constexpr std::uint32_t kSpaces[] = {1, 1, 3, kMostSpaces};
  episode.settings.spaces = kSpaces[random.below(4)];
  episode.settings.running = 1 + random.below(8);
  episode.settings.resizes = !random.one_in(4);
  episode.settings.pins = !random.one_in(4);
  episode.settings.faults = !random.one_in(3);
  // Lies come late, because a lie ends the episode.
  if (episode.settings.faults && random.one_in(3)) episode.settings.lies_from = episode.operations / 8 * 7;
  return episode;
}

/// Runs an episode, and calls before(operation, its number from 1) before each operation. Throws an exception for a
/// failure.
template <class Before>
Reached live(const Episode& episode, const Registry& registry, Before&& before) {
  auto subject = subject_of(episode.engine, registry);
  if (!subject) throw std::runtime_error(subject.error().text);
  Trial trial(*(*subject)->engine, registry, &(*subject)->faults, (*subject)->inserts_at_finish);
  RandomOperations operations(episode.seed, registry, episode.settings);
  for (std::uint64_t i = 1; i <= episode.operations && !trial.over(); ++i) {
    const Operation& operation = operations.next(trial);
    if (!before(operation, i, (*subject)->groups)) return trial.reached();
    trial.apply(operation);
  }
  if (!trial.over()) trial.finish();
  return trial.reached();
}

/// Runs episodes in one process until there are none left.
void work(const Options& options, const Registry& registry, Board& board, Board::Worker& self) {
  const std::uint64_t all = options.operations ? (options.operations + kEpisode - 1) / kEpisode : kNone;
  while (!board.stop) {
    const std::uint64_t number = board.next++;
    if (number >= all || number > board.failed) return;
    self.episode = number;
    be_a_child(kPatience);
    try {
      bool whole = true;
      const Reached reached =
          live(episode_of(options, number, registry), registry, [&](const Operation&, std::uint64_t, const auto&) {
            ++self.operations;
            return whole = !board.stop;
          });
      self.reached.add(reached);
      self.episodes += whole;
    } catch (const std::exception& error) {
      const std::string_view sentence = error.what();
      sentence.copy(self.sentence.data(), self.sentence.size() - 1);
      note_failure(board, number);
      return;
    }
    self.episode = kNone;
  }
}

/// Runs an episode again, in a separate process, and records every operation. `ended`: the verdict of the first run.
Failure failure_of(const Options& options, std::uint64_t number, const Verdict& ended, const Registry& registry) {
  Failure failure;
  failure.episode = number;
  const Episode episode = episode_of(options, number, registry);
  Shared<Log> log;
  const auto again = [&] {
    Verdict verdict;
    try {
      live(episode, registry, [&](const Operation& operation, std::uint64_t at, const auto& groups) {
        const std::string line = text_of(operation, groups) + '\n';
        const std::size_t size = log->size;
        if (size + line.size() > log->text.size()) return false;
        std::memcpy(log->text.data() + size, line.data(), line.size());
        log->size = size + line.size();
        verdict.operation = at;
        return true;
      });
    } catch (const std::exception& error) {
      verdict.kind = Verdict::Kind::violation;
      verdict.sentence = error.what();
    }
    return verdict;
  };
  failure.found = run_apart(again, kPatience, false);
  failure.repeats = failure.found.kind != Verdict::Kind::clean;
  if (!failure.repeats) failure.found = ended;
  failure.program.engine = episode.engine;
  if (const auto subject = subject_of(episode.engine, registry)) failure.program.groups = (*subject)->groups;
  std::istringstream lines(std::string(log->text.data(), log->size));
  for (std::string line; std::getline(lines, line);)
    failure.program.operations.push_back(operation_of(line, failure.program.groups));
  failure.operations = failure.program.operations.size();
  if (failure.found.operation == 0) failure.found.operation = failure.operations;
  return failure;
}

void shrink(Failure& failure, const Options& options, const Registry& registry) {
  const auto verdict_on = [&](const Program& program, bool quiet) {
    return run_apart([&] { return run_here(program, registry); }, 20, quiet);
  };
  const auto kind = failure.found.kind;
  const Fails fails = [&](const Program& program) { return verdict_on(program, true).kind == kind; };
  if (fails(failure.program)) failure.program = shrunk(std::move(failure.program), fails, options.shrink_seconds);
  failure.verdict = verdict_on(failure.program, true);
}

}  // namespace

Result<Summary> run(const Options& options, const Registry& registry,
                    const std::function<void(double, std::uint64_t)>& progress) {
  // An engine that cannot be made is not a finding.
  for (std::uint64_t i = 0; i < std::max<std::size_t>(options.engines.size(), 1); ++i)
    if (auto made = subject_of(episode_of(options, i, registry).engine, registry); !made) return made.error();
  Shared<Board> board;
  const unsigned jobs = std::clamp(options.jobs, 1U, kMostJobs);
  const auto began = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  std::vector<pid_t> workers(jobs);
  for (unsigned i = 0; i < jobs; ++i) {
    workers[i] = ::fork();
    if (workers[i] < 0) return Error{std::string("no process can be started: ") + std::strerror(errno)};
    if (workers[i] > 0) continue;
    work(options, registry, *board.operator->(), board->workers[i]);
    ::_exit(0);
  }

  Summary summary;
  const auto operations = [&] {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < jobs; ++i) all += board->workers[i].operations;
    return all;
  };
  std::map<std::uint64_t, Verdict> ends;  // verdicts of processes that failed, by episode
  for (unsigned left = jobs; left > 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (unsigned i = 0; i < jobs; ++i) {
      int status = 0;
      if (workers[i] <= 0 || ::waitpid(workers[i], &status, WNOHANG) <= 0) continue;
      workers[i] = 0;
      --left;
      const std::uint64_t episode = board->workers[i].episode;
      const bool by_itself = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (by_itself && episode == kNone) continue;
      if (const char* const sentence = board->workers[i].sentence.data(); by_itself && *sentence != '\0')
        ends[episode] = {Verdict::Kind::violation, 0, sentence};
      else ends[episode] = verdict_of(status, kPatience);
      note_failure(*board.operator->(), episode);
    }
    if (options.seconds > 0 && passed() >= options.seconds) board->stop = true;
    if (options.stopped && options.stopped()) board->stop = summary.stopped = true;
    const double share =
        std::max(options.operations ? static_cast<double>(operations()) / static_cast<double>(options.operations) : 0,
                 options.seconds > 0 ? passed() / options.seconds : 0);
    progress(std::min(share, 1.0), operations());
  }
  for (unsigned i = 0; i < jobs; ++i) {
    summary.reached.add(board->workers[i].reached);
    summary.episodes += board->workers[i].episodes;
  }
  summary.reached.operations = operations();
  summary.seconds = passed();
  if (board->failed != kNone) {
    summary.failure = failure_of(options, board->failed, ends[board->failed], registry);
    if (summary.failure->repeats) shrink(*summary.failure, options, registry);
    else summary.failure->verdict = summary.failure->found;
  }
  return summary;
}

}  // namespace canopy::check
