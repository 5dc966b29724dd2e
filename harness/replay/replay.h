#pragma once

#include <canopy/engine/engine.h>
#include <canopy/scheduling/waiting_order.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <workload/request_source.h>

namespace canopy::replay {

/// How requests reach the engine.
enum class Mode {
  /// One after the other, as the recorded runs in the literature do: the whole prompt is matched, a request takes
  /// its whole pages and no tail, produces nothing, and ends before the next begins.
  serial,
  /// As in a serving engine: requests arrive at their times, overlap, are prefilled in chunks, decode, wait,
  /// are aborted and retracted. Time is simulated: the same input gives the same run.
  timed,
};

/// A new limit for a pool before a request: shows, for example, what the hit rate is when a third of the memory is
/// gone.
struct Resize {
  std::uint64_t request = 0;  ///< number of the request it comes before, from 1
  std::string group;          ///< empty: the first
  std::uint64_t tokens = 0;
};

struct Options {
  Mode mode = Mode::serial;
  std::uint64_t limit = kUnlimited;  ///< requests
  std::uint64_t pace = 0;            ///< most requests a second, to watch the run; 0: no limit
  bool content = true;               ///< write and compare bytes, where the engine has a store
  /// Mode::serial: RequestSpec::min_uncached of each request. None by default, as in the recorded runs; a server
  /// leaves 1, and so does Mode::timed.
  std::uint32_t min_uncached = 0;
  std::vector<Resize> resizes;
  std::function<bool()> stopped = {};  ///< asked before each request and each simulated step; true ends the run
  /// Told of each request when it has been matched, with the tokens that were resident. Empty: nothing is told.
  std::function<void(const workload::ClientRequest& client, std::uint32_t matched)> each = {};
  // Mode::timed alone:
  std::uint32_t running = 32;           ///< requests at once
  std::uint32_t prefill_tokens = 8192;  ///< most prompt tokens that a step computes
  /// Simulated; each running request decodes one token a step. A step takes longer if its prefill does, by
  /// `tiers.recompute`.
  std::uint32_t step_ms = 25;
  std::uint32_t abort_permille = 10;  ///< of the requests, cancelled by their client at some step
  bool rematch = false;               ///< Request::rematch before each step of a prefill
  scheduling::Rules order = {};       ///< the order in which requests that wait are started
};

/// A moment of the hit rate over time, for charts.
struct Sample {
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
};

/// A group's pool at the end.
struct GroupReport {
  std::string name;
  std::string policy;            ///< in use at the end
  std::string policy_version{};  ///< of its plugin, where the caller knows it
  std::uint64_t tree_pages = 0, free_pages = 0, longest_free_run = 0;
  std::uint64_t handed_pages = 0, handed_runs = 0;  ///< to requests, in total; a run: consecutive page numbers

  /// Pages that a bulk copy can take at once; 1: page numbers are in no order.
  double mean_run() const {
    return handed_runs ? static_cast<double>(handed_pages) / static_cast<double>(handed_runs) : 0;
  }
};

/// The tier below the pools. Tokens of the first group unless they say otherwise.
struct TierReport {
  std::uint64_t hit_tokens = 0;  ///< of Report::hit_tokens, those that a fetch brought
  std::uint64_t resident_tokens = 0, capacity_tokens = 0, nodes = 0;
  std::uint64_t evicted_tokens = 0;
  std::uint64_t index_bytes = 0;
  double index_seconds = 0;
  TierFigures moved = {};
  // Simulated time, over all requests:
  std::uint64_t load_us = 0;    ///< from asking for a fetch to its end
  std::uint64_t hidden_us = 0;  ///< of that, while other requests were served
  std::uint64_t waited_us = 0;  ///< that requests waited for a fetch although there was room; in whole steps
  // Where `tiers.recompute` says what computing takes (else 0):
  std::uint64_t later = 0;      ///< requests computed more than 5 % later than if they had not waited for a fetch
  std::uint64_t latest_us = 0;  ///< the most that a request was later
};

/// The storage below that tier.
struct StorageReport {
  std::uint64_t hit_tokens = 0;  ///< of Report::hit_tokens, those that a fetch brought from it
  StorageFigures moved = {};
};

/// The KV events that told of the run.
struct PublishedReport {
  std::uint64_t batches = 0, bytes = 0;
  std::uint64_t stored_blocks = 0, removed_blocks = 0;
  std::uint64_t losses = 0;  ///< times that everything was cleared and told anew, since the queue was full
};

struct Report {
  std::string config, source;
  bool incomplete = false;  ///< the run was stopped: the figures are those until then
  Units page_size = 1;
  Mode mode = Mode::serial;
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;  ///< a retracted request counts once
  std::uint64_t evict_calls = 0, evicted_tokens = 0;
  std::uint64_t rejected = 0;  ///< could never fit, or (serial) did not fit after eviction
  std::uint64_t resident_tokens = 0, capacity_tokens = kUnlimited;
  std::uint64_t nodes = 0, index_bytes = 0, spaces = 0;
  std::uint64_t inserts_cut_short = 0;  ///< for want of memory; unless 0, the cache was smaller than configured
  std::uint64_t resizes = 0, relocated_pages = 0;
  double index_seconds = 0, seconds = 0;
  std::uint64_t ledger_checks = 0, content_checks = 0, violations = 0;
  std::uint64_t digest = 0, seed = 0;
  std::uint64_t engine_digest = 0;  ///< of the engine's configuration, where the caller knows it; 0: not known
  // Mode::timed alone:
  std::uint64_t output_tokens = 0, aborted = 0, retracted = 0, waited = 0, steps = 0, repointed_tokens = 0;
  std::uint64_t rematched_tokens = 0;  ///< taken over by Options::rematch; not in hit_tokens
  std::uint32_t most_running = 0;
  scheduling::Rules order = {};
  /// Simulated time from a request's arrival to its first start, of those that started. p95: 95 % waited no longer.
  double mean_wait_ms = 0;
  std::uint64_t p95_wait_ms = 0;
  std::vector<GroupReport> groups;
  std::optional<TierReport> host_tier;
  std::optional<StorageReport> storage;
  std::optional<PublishedReport> published;
  std::vector<std::string> reports;  ///< violations in words
  std::vector<std::string> notes;    ///< memory that the system refused
  std::vector<Sample> samples;       ///< about a hundred, evenly spaced in requests

  double hit_rate() const {
    return prompt_tokens ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// Called every 64 requests: how far the source is (0..1), and requests so far.
using Progress = std::function<void(double, std::uint64_t)>;

/// Runs a source through an engine. An error is the source's, and the run yields no report.
Result<Report> run(Engine& engine, workload::RequestSource& source, const Options& options, const Progress& progress);

/// Writes JSON, all of it or nothing. The names are those of the recorded runs.
Result<std::monostate> write_report(const Report& report, const std::string& path);

}  // namespace canopy::replay
