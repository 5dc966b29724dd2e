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

#include <program/shrink.h>
#include "composition.h"
#include "faulty.h"
#include "random_operations.h"
#include "ranks.h"

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
    std::uint64_t unfinished = kNone;   ///< the episode that was not run to its end
    std::array<char, 1024> sentence{};  ///< error message of its last episode that failed
  };
  std::array<Worker, kMostJobs> workers;
};

/// Returns what failures of one kind have in common: their message without its numbers.
std::string kind_of(const Verdict& verdict) {
  std::string kind;
  for (const char c : verdict.sentence)
    if (c < '0' || c > '9') kind += c;
    else if (!kind.ends_with('#')) kind += '#';
  return kind;
}

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

/// An engine and the operations on it.
struct Episode {
  Composition of;
  std::uint64_t seed = 0, operations = 0;
};

/// The episodes of a campaign, in their order.
class Episodes {
 public:
  Episodes(const Options& options, const Registry& registry) : options_(options), registry_(registry) {
    if (options.engines.empty()) draw_.emplace(draw_of(options.seed, registry));
  }

  /// REQUIRES: no later one was asked for.
  Episode at(std::uint64_t number) {
    Random random(splitmix64(splitmix64(options_.seed) + number));
    Episode episode{{},
                    random.next(),
                    options_.operations ? std::min(kEpisode, options_.operations - number * kEpisode) : kEpisode};
    if (draw_) {
      for (; drawn_ <= number; ++drawn_) draw_->next();
      episode.of = composition_of(draw_->row(), draw_->settings(), draw_->seed(), registry_);
      return episode;
    }
    episode.of.engine = made_small(options_.engines[number % options_.engines.size()], random.next(), registry_);
    constexpr std::uint32_t kSpaces[] = {1, 1, 3, kMostSpaces};
    RandomOperations::Settings& use = episode.of.use;
    use.spaces = kSpaces[random.below(4)];
    use.running = 1 + random.below(8);
    use.resizes = !random.one_in(4);
    use.pins = !random.one_in(4);
    use.faults = !random.one_in(3);
    use.memory = random.one_in(4);
    if (random.one_in(2)) use.next_index = "radix";
    // Lies come late, because a lie ends the episode.
    if (use.faults && random.one_in(3)) use.lies_from = episode.operations / 8 * 7;
    return episode;
  }

 private:
  const Options& options_;
  const Registry& registry_;
  std::optional<Draw> draw_;
  std::uint64_t drawn_ = 0;
};

/// Runs an episode, and calls before(operation, its number from 1) before each operation. Throws an exception for a
/// failure.
template <class Before>
Reached live(const Episode& episode, const Registry& registry, Before&& before) {
  auto made = Ranks::create(episode.of.engine, episode.of.ranks, registry);
  if (!made) throw std::runtime_error(made.error().text);
  Ranks& ranks = **made;
  RandomOperations operations(episode.seed, registry, episode.of.use);
  for (std::uint64_t i = 1; i <= episode.operations && !ranks.first().over(); ++i) {
    const Operation& operation = operations.next(ranks.first());
    if (!before(operation, i)) return ranks.first().reached();
    ranks.apply(operation);
  }
  if (!ranks.first().over()) ranks.finish();
  return ranks.first().reached();
}

/// Runs episodes in one process until there are none left.
void work(const Options& options, const Registry& registry, Board& board, Board::Worker& self) {
  const std::uint64_t all = options.operations ? (options.operations + kEpisode - 1) / kEpisode : kNone;
  self.sentence.fill('\0');
  self.episode = kNone;
  Episodes episodes(options, registry);
  while (!board.stop) {
    const std::uint64_t number = board.next++;
    if (number >= all || (!options.goes_on && number > board.failed)) {
      self.unfinished = number;
      return;
    }
    self.episode = number;
    be_a_child(kPatience);
    try {
      bool whole = true;
      const Reached reached = live(episodes.at(number), registry, [&](const Operation&, std::uint64_t) {
        ++self.operations;
        return whole = !board.stop;
      });
      self.reached.add(reached);
      self.episodes += whole;
      if (!whole) self.unfinished = number;
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
  const Episode episode = Episodes(options, registry).at(number);
  Shared<Log> log;
  const auto again = [&] {
    Verdict verdict;
    try {
      live(episode, registry, [&](const Operation& operation, std::uint64_t at) {
        const std::string line = program::text_of(operation) + '\n';
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
  failure.program.engine = episode.of.engine;
  failure.program.ranks = episode.of.ranks;
  std::istringstream lines(std::string(log->text.data(), log->size));
  for (std::string line; std::getline(lines, line);)
    failure.program.operations.push_back(program::operation_of(line, program::Runner::engine));
  failure.operations = failure.program.operations.size();
  if (failure.found.operation == 0) failure.found.operation = failure.operations;
  return failure;
}

void shrink(Failure& failure, const Options& options, const Registry& registry) {
  const auto verdict_on = [&](const Program& program, bool quiet) {
    return run_apart([&] { return run_here(program, registry); }, 20, quiet);
  };
  constexpr std::size_t kBeginning = 32;  // words behind it may depend on numbers
  const auto kind = failure.found.kind;
  const std::string begins = kind_of(failure.found).substr(0, kBeginning);
  Program program = failure.program;
  const program::Fails fails = [&](const std::vector<Operation>& operations) -> std::optional<std::size_t> {
    program.operations = operations;
    const Verdict verdict = verdict_on(program, true);
    if (verdict.kind != kind || !kind_of(verdict).starts_with(begins)) return {};
    return operations.size();
  };
  std::vector<Operation>& found = failure.program.operations;
  if (fails(found)) found = program::shrunk(std::move(found), fails, options.shrink_seconds);
  failure.verdict = verdict_on(failure.program, true);
}

}  // namespace

Draw draw_of(std::uint64_t seed, const Registry& registry) {
  const std::vector<Setting> settings = settings_of(registry);
  return Draw(seed, settings, [settings, &registry](const Combination& row, std::uint64_t numbers) {
    const Composition composition = composition_of(row, settings, numbers, registry);
    const auto made = Subject::create(composition.engine, registry, 0, composition.ranks);
    return made ? std::string() : made.error().text.substr(0, made.error().text.find('\n'));
  });
}

Result<Summary> run(const Options& options, const Registry& registry,
                    const std::function<void(double, std::uint64_t)>& progress) {
  // A given engine that cannot be made is not a finding.
  for (std::uint64_t i = 0; i < options.engines.size(); ++i)
    if (auto made = Subject::create(Episodes(options, registry).at(i).of.engine, registry); !made) return made.error();
  Shared<Board> board;
  const unsigned jobs = std::clamp(options.jobs, 1U, kMostJobs);
  const auto began = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  std::vector<pid_t> workers(jobs);
  const auto start = [&](unsigned i) {
    workers[i] = ::fork();
    if (workers[i] != 0) return workers[i] > 0;
    work(options, registry, *board.operator->(), board->workers[i]);
    ::_exit(0);
  };
  for (unsigned i = 0; i < jobs; ++i)
    if (!start(i)) return Error{std::string("no process can be started: ") + std::strerror(errno)};

  Summary summary;
  const auto operations = [&] {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < jobs; ++i) all += board->workers[i].operations;
    return all;
  };
  std::map<std::string, Failure> kinds;  // kinds of failures, by what they have in common
  std::vector<std::uint64_t> unfinished;
  const auto failed = [&](std::uint64_t episode, Verdict verdict) {
    const auto [at, is_new] = kinds.try_emplace(options.goes_on ? kind_of(verdict) : "");
    Failure& kind = at->second;
    if (is_new) kind.episode = kNone, kind.count = 0, kind.seconds = passed();
    ++kind.count;
    unfinished.push_back(episode);
    if (episode < kind.episode) kind.episode = episode, kind.found = std::move(verdict);
  };
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
        failed(episode, {Verdict::Kind::violation, 0, sentence});
      else failed(episode, verdict_of(status, kPatience));
      note_failure(*board.operator->(), episode);
      if (options.goes_on && !board->stop && start(i)) ++left;
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
    unfinished.push_back(board->workers[i].unfinished);
  }
  summary.reached.operations = operations();
  summary.seconds = passed();
  if (options.engines.empty()) {
    summary.draw.emplace(draw_of(options.seed, registry));
    const std::uint64_t all = options.operations ? (options.operations + kEpisode - 1) / kEpisode : kNone;
    const std::uint64_t end = std::min<std::uint64_t>(board->next, all);
    for (std::uint64_t episode = 0; episode < end && !summary.draw->complete(); ++episode)
      if (const Combination& row = summary.draw->next(); std::ranges::find(unfinished, episode) == unfinished.end())
        summary.draw->drawn(row);
  }
  for (auto& [kind, found] : kinds) {
    Failure failure = failure_of(options, found.episode, found.found, registry);
    failure.count = found.count, failure.seconds = found.seconds;
    if (failure.repeats) shrink(failure, options, registry);
    else failure.verdict = failure.found;
    summary.failures.push_back(std::move(failure));
  }
  std::ranges::sort(summary.failures, {}, &Failure::seconds);
  return summary;
}

}  // namespace canopy::check
