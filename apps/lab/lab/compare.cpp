#include "compare.h"

#include <canopy/base/figures.h>
#include <canopy/base/random.h>
#include <canopy/base/reason.h>
#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "breakdown.h"
#include "optimum.h"
#include "spread.h"
#include "stack.h"
#include "waiting.h"

namespace canopy::lab {
namespace {

constexpr std::pair<const char*, Kind> kComputed[] = {
    {"optimum", Kind::optimum}, {"lru_trimmed", Kind::lru_trimmed}, {"infinite", Kind::infinite}};

/// State that the threads of a comparison share.
struct Board {
  std::mutex mutex;  ///< for all of the following, except the atomics
  std::condition_variable ended;
  std::size_t threads = 0;  ///< threads still running
  std::optional<Error> failed;
  std::exception_ptr thrown;  ///< by a thread; the caller makes words of it, which needs memory
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> requests = 0;
};

/// Returns the policy of a contender's first group with all its options, as YAML flow text; empty if no engine runs.
std::string options_of(const Contender& contender, const Registry& registry) {
  if (contender.kind != Kind::engine) return {};
  if (contender.policy) return to_yaml(contender.name);  // it is in no plugin, so nothing is known of its options
  const auto dump = parse_yaml(dump_engine_config(contender.engine, registry), "the engine");
  const YamlNode* const groups = dump ? dump->find("groups") : nullptr;
  const YamlNode* const policy =
      groups && !groups->entries.empty() ? groups->entries.front().second.find("eviction") : nullptr;
  return policy ? to_yaml(*policy) : std::string();
}

class Comparing {
 public:
  Comparing(const Trace& trace, const Registry& registry, const CompareOptions& options)
      : trace_(trace),
        registry_(registry),
        options_(options),
        breakdown_(trace, options.warm_up, options.flop_depth, options.recompute) {}

  Result<Comparison> operator()(const Progress& progress) {
    describe();
    plan();
    run(progress);
    if (board_.failed) return *board_.failed;
    if (board_.thrown) try {
        std::rethrow_exception(board_.thrown);
      } catch (const std::exception& thrown) {
        return Error{reason_of(thrown)};
      }
    for (Task& task : tasks_) {
      if (!task.row) continue;
      comparison_.rows.push_back(std::move(*task.row));
      comparison_.checks += task.checks;
      comparison_.violations += task.violations;
      const auto of_row = [&](const std::string& sentence) {
        return fmt::format("{} at {}: {}", comparison_.rows.back().policy,
                           grouped(comparison_.rows.back().capacity_tokens.value_or(0)), sentence);
      };
      for (const std::string& sentence : task.reports) comparison_.reports.push_back(of_row(sentence));
      for (const std::string& sentence : task.notes) comparison_.notes.push_back(of_row(sentence));
      for (const Doubt& doubt : task.doubts)
        comparison_.doubts.push_back({doubt.kind, doubt.count, of_row(doubt.sentence)});
    }
    add_intervals(comparison_);
    return std::move(comparison_);
  }

 private:
  /// A row being computed.
  struct Task {
    const Contender* contender = nullptr;
    std::uint64_t capacity = kUnlimited;
    std::optional<Row> row{};
    std::uint64_t checks = 0, violations = 0;
    std::vector<std::string> reports{}, notes{};
    Doubts doubts{};
  };

  void describe() {
    const History& history = trace_.history;
    comparison_.page_size = trace_.cut.unit;
    comparison_.blocks = trace_.cut.partial;
    comparison_.requests = trace_.arrivals.size();
    comparison_.warm_up = options_.warm_up;
    comparison_.prompt_tokens = breakdown_.prompt_tokens();
    comparison_.flop_depth = options_.flop_depth;
    comparison_.capacities = options_.capacities;
    comparison_.slices = breakdown_.slices();
    comparison_.jobs = options_.jobs;
    comparison_.timed = options_.run.mode == replay::Mode::timed;
    comparison_.trace_hash = trace_.hash;
    comparison_.doubts = trace_.doubts;
    comparison_.notes = trace_.notes;
    for (const Contender& contender : options_.contenders) {
      comparison_.policies.push_back(contender.name);
      comparison_.policy_options.push_back(options_of(contender, registry_));
    }
    std::uint64_t first = kUnlimited, first_counted = kUnlimited, last = 0;
    for (std::uint32_t request = 0; request < history.requests(); ++request) {
      const Arrival& arrival = trace_.arrivals[request];
      comparison_.largest_request =
          std::max(comparison_.largest_request, trace_.tokens(request, history.units(request)));
      first = std::min(first, arrival.arrival_ms);
      if (request >= options_.warm_up) first_counted = std::min(first_counted, arrival.arrival_ms);
      last = std::max(last, arrival.arrival_ms);
    }
    comparison_.trace_ms = last - std::min(first, last);
    comparison_.counted_ms = last - std::min(first_counted, last);
    bounded_ = !comparison_.timed;
    for (const Contender& contender : options_.contenders)
      bounded_ &= contender.kind != Kind::engine || why_no_bound(contender.engine).empty();
    if (!bounded_) return;
    comparison_.distinct_tokens = trace_.distinct_tokens();
    Row infinite;
    breakdown_.fill(infinite, infinite_hits());
    comparison_.infinite_tokens = infinite.hit_tokens;
    for (const std::uint64_t capacity : options_.capacities) {
      Row best;
      breakdown_.fill(best, optimum(history, capacity / trace_.cut.unit));
      optima_.push_back(best.hit_tokens);
    }
    draw_curve();
  }

  /// Computes LRU at capacities that are evenly spaced on a logarithmic axis, around those that are compared.
  void draw_curve() {
    constexpr int kPoints = 64;
    const auto [least, most] = std::ranges::minmax(options_.capacities);
    const Units unit = trace_.cut.unit;
    const double from = std::max(static_cast<double>(least) / 4, static_cast<double>(unit));
    const double step = std::pow(static_cast<double>(most) * 4 / from, 1.0 / (kPoints - 1));
    for (int i = 0; i < kPoints; ++i) {
      const std::uint64_t units = static_cast<std::uint64_t>(from * std::pow(step, i)) / unit;
      comparison_.lru_curve.push_back({units * unit, breakdown_.hit_rate(trimmed_hits(units))});
    }
  }

  void plan() {
    for (const Contender& contender : options_.contenders) {
      if (contender.kind == Kind::infinite) {
        tasks_.push_back({&contender});
        continue;
      }
      for (const std::uint64_t capacity : options_.capacities) tasks_.push_back({&contender, capacity});
    }
  }

  void run(const Progress& progress) {
    const unsigned threads = std::clamp<unsigned>(options_.jobs, 1, static_cast<unsigned>(tasks_.size()));
    board_.threads = threads;
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) try {
        workers.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // fewer threads do the same work
        if (workers.empty()) throw;
        const std::lock_guard lock(board_.mutex);
        board_.threads -= threads - i;
        break;
      }
    const auto all = static_cast<double>(tasks_.size()) * static_cast<double>(trace_.arrivals.size());
    std::unique_lock lock(board_.mutex);
    while (!board_.ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return board_.threads == 0; })) {
      const std::uint64_t done = board_.requests;
      lock.unlock();
      if (progress) progress(static_cast<double>(done) / std::max(all, 1.0), done);
      lock.lock();
    }
    comparison_.incomplete = options_.stopped && options_.stopped();
  }

  void work() {
    std::shared_ptr<void> watch;
    for (;;) {
      const std::size_t at = board_.next++;
      if (at >= tasks_.size() || (options_.stopped && options_.stopped())) break;
      std::optional<Error> error;
      std::exception_ptr thrown;
      try {
        if (options_.watch && !watch) watch = options_.watch();
        error = run(tasks_[at]);
      } catch (const std::exception&) {
        thrown = std::current_exception();
      }
      if (!error && !thrown) continue;
      board_.next = tasks_.size();
      const std::lock_guard lock(board_.mutex);
      if (board_.failed || board_.thrown) continue;
      board_.failed = std::move(error);
      board_.thrown = std::move(thrown);
    }
    const std::lock_guard lock(board_.mutex);
    --board_.threads;
    board_.ended.notify_one();
  }

  std::optional<Error> run(Task& task) {
    Row row;
    row.policy = task.contender->name;
    row.page_size = trace_.cut.unit;
    row.seed = trace_.seed;
    if (task.capacity != kUnlimited) row.capacity_tokens = task.capacity;
    if (task.contender->kind == Kind::engine) {
      if (auto error = replay(task, row)) return error;
    } else {
      compute(task, row);
      board_.requests += trace_.arrivals.size();
    }
    if (!bounded_ || row.rejected > 0) row.regret.reset();
    if (bounded_ && task.capacity != kUnlimited) {
      const auto nth = std::find(options_.capacities.begin(), options_.capacities.end(), task.capacity);
      const std::uint64_t best = optima_[static_cast<std::size_t>(nth - options_.capacities.begin())];
      row.optimum_share = best ? static_cast<double>(row.hit_tokens) / static_cast<double>(best) : 1;
    }
    if (!options_.stopped || !options_.stopped()) task.row = std::move(row);
    return {};
  }

  /// Computes a row that follows from the trace only.
  void compute(const Task& task, Row& row) {
    const History& history = trace_.history;
    const std::uint64_t capacity = task.capacity == kUnlimited ? kUnlimited : task.capacity / trace_.cut.unit;
    std::vector<Units> hits;
    switch (task.contender->kind) {
      case Kind::optimum:
        hits = optimum(history, capacity);
        break;
      case Kind::lru_trimmed:
        hits = trimmed_hits(capacity);
        break;
      default:
        hits = infinite_hits();
        break;
    }
    breakdown_.fill(row, hits, options_.keep_requests);
    // Everything inserted and not resident at the end was evicted: a pool that was once full stays full.
    std::uint64_t inserted = 0, digest = 0;
    for (std::uint32_t request = 0; request < history.requests(); ++request) {
      inserted +=
          std::min<std::uint64_t>(history.units(request), capacity) - std::min<std::uint64_t>(hits[request], capacity);
      digest = splitmix64(digest ^ hits[request]);
    }
    row.evicted_tokens = (inserted - std::min({inserted, capacity, history.distinct_units()})) * trace_.cut.unit;
    row.digest = digest;
  }

  std::vector<Units> infinite_hits() const {
    std::vector<Units> hits(trace_.history.requests());
    for (std::uint32_t request = 0; request < hits.size(); ++request) hits[request] = trace_.history.seen(request);
    return hits;
  }

  std::vector<Units> trimmed_hits(std::uint64_t capacity) {
    std::call_once(stacked_, [&] { stack_.emplace(trace_.history); });
    std::vector<Units> hits(trace_.history.requests());
    for (std::uint32_t request = 0; request < hits.size(); ++request) hits[request] = stack_->hits(request, capacity);
    return hits;
  }

  std::optional<Error> replay(Task& task, Row& row) {
    EngineConfig config = task.contender->engine;
    config.events = {};  // they belong to the server for which the file is made
    const Units unit = trace_.cut.partial ? trace_.cut.unit : 1;  // tokens per token of the engine
    config.groups[0].capacity = task.capacity / unit;
    std::unique_ptr<Engine> engine;
    {
      const std::lock_guard lock(making_);  // a plugin may only make one component at a time
      auto made = Engine::create(config, registry_);
      if (!made) return made.error();
      engine = std::move(*made);
    }
    for (std::size_t g = 0; task.contender->policy && g < engine->groups(); ++g)
      if (auto used = engine->use_policy(g, task.contender->policy(), task.contender->name); !used) return used.error();
    std::vector<Units> hits(trace_.arrivals.size());
    replay::Options options = options_.run;
    options.content = false;
    options.stopped = options_.stopped;
    options.failed_report = true;
    options.each = [&](const workload::ClientRequest& client, std::uint32_t matched) {
      hits[client.number - 1] = matched / config.page_size;
    };
    std::uint64_t counted = 0;
    auto report = replay::run(*engine, *replay_of(trace_), options, [&](double, std::uint64_t done) {
      board_.requests += done - std::exchange(counted, done);
    });
    if (!report) return report.error();
    board_.requests += report->requests - counted;
    if (report->incomplete) return {};
    breakdown_.fill(row, hits, options_.keep_requests);
    row.evicted_tokens = report->evicted_tokens * unit;
    row.index_seconds = report->index_seconds;
    row.digest = report->digest;
    row.rejected = report->rejected;
    if (options.mode == replay::Mode::timed) {
      row.answered = report->answered;
      if (report->p50_ttft_ms) row.p50_ttft_ms = static_cast<double>(*report->p50_ttft_ms);
      if (report->p95_ttft_ms) row.p95_ttft_ms = static_cast<double>(*report->p95_ttft_ms);
      if (row.prefill_seconds) row.prefill_seconds = report->prefill_seconds;
    }
    row.waiting = waiting_in(*engine, unit);
    task.checks = report->ledger_checks;
    task.violations = report->violations;
    task.reports = report->reports;
    task.notes = report->notes;
    task.doubts = report->doubts;
    return {};
  }

  const Trace& trace_;
  const Registry& registry_;
  const CompareOptions& options_;
  const Breakdown breakdown_;
  Comparison comparison_;
  bool bounded_ = true;
  std::vector<std::uint64_t> optima_;  ///< hit tokens, by capacity
  std::vector<Task> tasks_;
  Board board_;
  std::mutex making_;
  std::once_flag stacked_;
  std::optional<Stack> stack_;
};

}  // namespace

Kind kind_of(std::string_view name) {
  for (const auto& [known, kind] : kComputed)
    if (name == known) return kind;
  return Kind::engine;
}

std::vector<std::string> computed_names() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kComputed) names.emplace_back(name);
  return names;
}

std::string why_no_bound(const EngineConfig& engine) {
  if (engine.groups.size() != 1) return fmt::format("the engine has {} groups", engine.groups.size());
  const GroupConfig& group = engine.groups[0];
  if (group.reach != kWholePath)
    return fmt::format("group '{}' keeps only the last {} tokens of a path", group.name, group.reach);
  if (group.every != 0) return fmt::format("group '{}' keeps one page of {} tokens", group.name, group.every);
  if (group.max_per_path != 0)
    return fmt::format("group '{}' keeps only {} pages of a path", group.name, group.max_per_path);
  return {};
}

Result<Comparison> compare(const Trace& trace, const Registry& registry, const CompareOptions& options,
                           const Progress& progress) {
  return Comparing(trace, registry, options)(progress);
}

}  // namespace canopy::lab
