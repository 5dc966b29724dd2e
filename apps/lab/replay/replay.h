#pragma once

#include <canopy/base/doubts.h>
#include <canopy/engine/engine.h>
#include <canopy/engine/waiting_order.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <workload/request_source.h>
#include "figures.h"

namespace canopy::replay {

/// The way in which requests reach the engine.
enum class Mode {
  /// One after another, as in the recorded runs of the literature: the whole prompt is matched, a request takes its
  /// whole pages without a tail, produces nothing, and ends before the next begins. From the first request with a
  /// retention on, each begins at its time of arrival, which nothing else depends on.
  serial,
  /// As in a serving engine: requests arrive at their times, overlap, are prefilled in chunks, decode, wait,
  /// are aborted and retracted. Time is simulated: the same input gives the same run.
  timed,
};

/// A new limit for a pool before a request, for example to measure the hit rate after the loss of a third of the
/// memory.
struct Resize {
  std::uint64_t request = 0;  ///< number of the request that it precedes, from 1
  std::string group;          ///< empty: the first group
  std::uint64_t tokens = 0;
};

struct Options {
  Mode mode = Mode::serial;
  std::uint64_t limit = kUnlimited;  ///< Most requests to run.
  std::uint64_t pace = 0;            ///< most requests per second, to watch the run; 0: no limit
  bool content = true;               ///< write and compare bytes if the engine has a store
  /// Mode::serial: RequestSpec::min_uncached of each request. 0 by default, as in the recorded runs; a server leaves 1,
  /// as does Mode::timed.
  std::uint32_t min_uncached = 0;
  std::vector<Resize> resizes;
  /// True: a run with violations or doubts returns its report too, for a caller that shows Report::violations and
  /// Report::doubts, and ends with exit code 1.
  bool failed_report = false;
  std::function<bool()> stopped = {};  ///< Called before each request and each simulated step. True ends the run.
  /// Called for each request after its match, with the resident tokens; with 0 if it is rejected. May be empty.
  std::function<void(const workload::ClientRequest& client, std::uint32_t matched)> each = {};
  // Mode::timed only:
  std::uint32_t running = 32;           ///< concurrent requests
  std::uint32_t prefill_tokens = 8192;  ///< most prompt tokens that a step computes
  /// Simulated milliseconds of a step, in which each running request decodes one token. A step takes longer if its
  /// prefill does, according to `tiers.recompute`.
  std::uint32_t step_ms = 25;
  std::uint32_t abort_permille = 10;  ///< share of the requests that their client cancels at some step
  bool rematch = false;               ///< true: calls Request::rematch before each step of a prefill
  scheduling::Rules order = {};       ///< order in which waiting requests start
};

/// A moment of the hit rate over time, for charts.
struct Sample {
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
};

/// A group's pool at the end.
struct GroupReport {
  std::string name;
  std::string policy;            ///< policy in use at the end
  std::string policy_version{};  ///< Version of its plugin. May be empty (not known).
  std::uint64_t tree_pages = 0, free_pages = 0, longest_free_run = 0;
  std::uint64_t handed_pages = 0, handed_runs = 0;  ///< total for requests; a run has consecutive page numbers

  /// Returns the mean number of pages per bulk copy; 1 if page numbers are scattered.
  double mean_run() const {
    return handed_runs ? static_cast<double>(handed_pages) / static_cast<double>(handed_runs) : 0;
  }
};

/// The tier below the pools. In tokens of the first group, unless noted.
struct TierReport {
  CounterValues counters;  ///< The hits and the saved time are those of requests that began.
  bool storage = false;    ///< true if there is a storage below it
  std::uint64_t resident_tokens = 0, capacity_tokens = 0, nodes = 0;
  std::uint64_t index_bytes = 0;
  double index_seconds = 0;
  // Simulated microseconds, over all requests:
  std::uint64_t load_us = 0;    ///< from the start of a fetch to its end
  std::uint64_t hidden_us = 0;  ///< part of it during which other requests were served
  std::uint64_t waited_us = 0;  ///< time that requests with room waited for a fetch; whole steps
  // 0 unless `tiers.recompute` is configured:
  std::uint64_t later = 0;      ///< requests computed more than 5 % later than without waiting for a fetch
  std::uint64_t latest_us = 0;  ///< greatest such delay
};

/// The KV events that were published.
struct PublishedReport {
  std::uint64_t batches = 0, bytes = 0;
  std::uint64_t stored_blocks = 0, removed_blocks = 0;
  std::uint64_t losses = 0;  ///< times that everything was cleared and published again because the queue was full
};

/// Reports that contain a figure: all, those of Mode::timed, or none (texts only).
enum class When { always, timed, printed };

#define CANOPY_STORED(type, name, when, unit, help) type name{};
#define CANOPY_DERIVED(name, value, when, unit, help)
struct Report {
  CANOPY_RUN_FIGURES(CANOPY_STORED, CANOPY_DERIVED)
  bool incomplete = false;          ///< true if the run was stopped: the figures are those until then
  std::uint64_t engine_digest = 0;  ///< Digest of the engine's configuration. 0: not known.
  scheduling::Rules order = {};
  std::optional<TierReport> host_tier;
  std::vector<TenantUse> tenants;  ///< at the end; empty if no tenant has a share
  std::vector<TenantPayment> payments;
  std::optional<PublishedReport> published;
  std::vector<std::string> reports;  ///< Violations in words. Not empty if there are violations.
  Doubts doubts;                     ///< doubts of the engine and of the source
  std::vector<std::string> notes;    ///< advice for a reader of the figures, which are right
  std::vector<Sample> samples;       ///< About a hundred, evenly spaced in requests.

  /// Returns the hit tokens that no tier below had to bring.
  std::uint64_t hit_tokens_device() const {
    if (!host_tier) return hit_tokens;
    const CounterValues& counters = host_tier->counters;
    const std::uint64_t below = counters[Counter::hit_tokens_host] + counters[Counter::hit_tokens_storage];
    return hit_tokens - below;
  }
  double hit_rate() const {
    return prompt_tokens ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};
#undef CANOPY_STORED
#undef CANOPY_DERIVED

/// Called every 64 requests with the share of the source that was read (0 to 1) and the requests so far.
using Progress = std::function<void(double, std::uint64_t)>;

/// Runs a source through an engine. Returns an error if the source has one. If a rule was violated, or there are
/// doubts, the figures are not those of the configured cache: then the error is the first of Report::reports or
/// Report::doubts, unless Options::failed_report is set.
Result<Report> run(Engine& engine, workload::RequestSource& source, const Options& options, const Progress& progress);

/// A figure of the list, with its getter.
struct Figure {
  const char *name, *unit, *help;
  When when;
  nlohmann::ordered_json (*read)(const Report&);
};
std::span<const Figure> figures();

/// Returns the report as JSON. `all`: includes the figures that its mode leaves at 0.
nlohmann::ordered_json json_of(const Report& report, bool all);

/// Replaces each {name} by the figure's value with its unit, such as "3 tokens", and each {n_name} by the value only.
std::string in_words(const Report& report, std::string_view text);

/// Writes the JSON, completely or not at all.
Result<std::monostate> write_report(const Report& report, const std::string& path);

}  // namespace canopy::replay
