#include "breakdown.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "spread.h"

namespace canopy::lab {
namespace {

/// Bins of a histogram: bin i ends below edges[i], the last one has no end.
struct Bins {
  std::vector<std::uint64_t> edges;
  std::vector<std::string> names;
  std::size_t of(std::uint64_t value) const {
    return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin());
  }
  std::vector<RegretBin> empty() const {
    std::vector<RegretBin> all;
    for (const std::string& name : names) all.push_back({name, 0});
    return all;
  }
};

/// Returns the bins "below 10", "10 to 19", "20 or more", for whole numbers from `least` on.
Bins whole_numbers(std::uint64_t least, std::vector<std::uint64_t> edges, const char* before) {
  Bins bins{std::move(edges), {}};
  std::uint64_t from = least;
  for (const std::uint64_t edge : bins.edges) {
    bins.names.push_back(before + (from + 1 == edge ? grouped(from)
                                   : from == 0      ? "below " + grouped(edge)
                                                    : grouped(from) + " to " + grouped(edge - 1)));
    from = edge;
  }
  bins.names.push_back(before + grouped(from) + " or more");
  return bins;
}

const Bins& turns() {
  static const Bins bins = whole_numbers(1, {2, 3, 4, 5, 9}, "turn ");
  return bins;
}
const Bins& depths() {
  static const Bins bins = whole_numbers(0, {1024, 2048, 4096, 8192, 16384, 32768, 65536}, "");
  return bins;
}
/// Returns classes of new tokens. On traces of conversations they best predict whether a prompt's prefix comes back.
const Bins& new_tokens() {
  static const Bins bins = whole_numbers(0, {640, 1280, 3072, 8192}, "");
  return bins;
}
const Bins& answers() {
  static const Bins bins = whole_numbers(0, {128}, "");
  return bins;
}
const Bins& ages() {
  static const Bins bins{{1000, 10'000, 30'000, 60'000, 120'000, 300'000, 600'000, 1'800'000, 3'600'000},
                         {"below 1 s", "1 to 10 s", "10 to 30 s", "30 s to 1 min", "1 to 2 min", "2 to 5 min",
                          "5 to 10 min", "10 to 30 min", "30 min to 1 h", "1 h or more"}};
  return bins;
}

}  // namespace

std::optional<Fairness> fairness_of(const std::vector<Slice>& slices) {
  std::size_t tenants = 0;
  double sum = 0, squares = 0;
  const Slice* worst = nullptr;
  for (const Slice& slice : slices) {
    if (slice.kind != "namespace" || slice.prompt_tokens == 0) continue;
    const double rate = slice.hit_rate();
    ++tenants, sum += rate, squares += rate * rate;
    if (!worst || rate < worst->hit_rate() || (rate == worst->hit_rate() && slice.prompt_tokens > worst->prompt_tokens))
      worst = &slice;
  }
  if (tenants < 2 || squares == 0) return {};
  const auto count = static_cast<double>(tenants);
  return Fairness{sum * sum / (count * squares), sum / count, worst->name, worst->hit_rate()};
}

Breakdown::Breakdown(const Trace& trace, std::uint64_t warm_up, double flop_depth, const RecomputeConfig& recompute)
    : trace_(trace),
      from_(static_cast<std::uint32_t>(std::min<std::uint64_t>(warm_up, trace.arrivals.size()))),
      flop_depth_(flop_depth),
      recompute_(recompute) {
  for (std::size_t i = from_; i < trace.arrivals.size(); ++i) {
    prompt_tokens_ += trace.arrivals[i].prompt_tokens;
    prompt_flops_ += flops(trace.arrivals[i].prompt_tokens);
  }
  for (const Arrival& arrival : trace.arrivals) has_times_ |= arrival.arrival_ms != trace.arrivals[0].arrival_ms;
  const auto binned = [](const Bins& bins, std::uint64_t value) {
    return std::pair(bins.of(value), bins.names[bins.of(value)]);
  };
  if (trace.spaces.size() > 1)
    sort_by("namespace", [&](std::uint32_t request) {
      const std::uint32_t space = trace_.arrivals[request].space;
      const std::string& name = trace_.spaces[space];
      return std::pair(std::size_t{space}, shown_name(name));
    });
  sort_by("turn", [&](std::uint32_t request) { return binned(turns(), trace_.turn(request)); });
  sort_by("new tokens", [&](std::uint32_t request) {
    const std::uint64_t seen = trace_.tokens(request, trace_.history.seen(request));
    return binned(new_tokens(), trace_.arrivals[request].prompt_tokens - seen);
  });
  sort_by("answer", [&](std::uint32_t request) { return binned(answers(), trace_.arrivals[request].output_tokens); });
  const auto differs = [&](const Arrival& arrival) { return arrival.priority != trace.arrivals[0].priority; };
  if (std::any_of(trace.arrivals.begin(), trace.arrivals.end(), differs))
    sort_by("priority", [&](std::uint32_t request) {
      const std::int32_t priority = trace_.arrivals[request].priority;
      return std::pair(static_cast<std::size_t>(std::int64_t{priority} - INT32_MIN), std::to_string(priority));
    });
}

/// Adds a kind of slices: name_of(request) returns the position and the name of the request's slice.
template <class NameOf>
void Breakdown::sort_by(const char* kind, NameOf&& name_of) {
  std::map<std::size_t, std::string> names;
  const auto requests = static_cast<std::uint32_t>(trace_.arrivals.size());
  for (std::uint32_t request = from_; request < requests; ++request) names.insert(name_of(request));
  std::map<std::size_t, std::uint32_t> places;
  for (auto& [key, name] : names) {
    places.emplace(key, static_cast<std::uint32_t>(slices_.size()));
    slices_.push_back({kind, name, 0, 0, 0, 0});
  }
  std::vector<std::uint32_t>& of = slice_of_.emplace_back(requests);
  for (std::uint32_t request = from_; request < requests; ++request) {
    Slice& slice = slices_[of[request] = places.at(name_of(request).first)];
    ++slice.requests;
    slice.prompt_tokens += trace_.arrivals[request].prompt_tokens;
    slice.seen_tokens += trace_.tokens(request, trace_.history.seen(request));
  }
}

/// Returns the cost of a prompt's first tokens: one at depth d costs 1 + d / flop_depth.
double Breakdown::flops(std::uint64_t tokens) const {
  const auto count = static_cast<double>(tokens);
  return count + count * (count - 1) / 2 / flop_depth_;
}

void Breakdown::fill(Row& row, std::span<const Units> hits, bool keep) const {
  row.slices = slices_;
  row.stretch_tokens.assign(kStretches, 0);
  double hit_flops = 0;
  std::uint64_t prefill_us = 0;
  const std::uint64_t counted = trace_.arrivals.size() - from_;
  for (std::uint32_t request = from_; request < trace_.arrivals.size(); ++request) {
    const std::uint64_t tokens = trace_.tokens(request, hits[request]);
    row.hit_tokens += tokens;
    row.stretch_tokens[(request - from_) * kStretches / counted] += tokens;
    hit_flops += flops(tokens);
    const std::uint64_t rest = trace_.arrivals[request].prompt_tokens - tokens;
    prefill_us += recompute_.us(static_cast<Units>(tokens), static_cast<Units>(rest));
    for (const auto& of : slice_of_) row.slices[of[request]].hit_tokens += tokens;
  }
  for (std::uint32_t request = 0; keep && request < trace_.arrivals.size(); ++request)
    row.request_tokens.push_back(static_cast<std::uint32_t>(trace_.tokens(request, hits[request])));
  row.hit_rate = prompt_tokens_ ? static_cast<double>(row.hit_tokens) / static_cast<double>(prompt_tokens_) : 0;
  row.flop_hit_rate = prompt_flops_ > 0 ? hit_flops / prompt_flops_ : 0;
  if (recompute_.known()) row.prefill_seconds = static_cast<double>(prefill_us) / 1e6;
  row.fairness = fairness_of(row.slices);
  row.regret = regret_of(hits);
}

double Breakdown::hit_rate(std::span<const Units> hits) const {
  std::uint64_t tokens = 0;
  for (std::uint32_t request = from_; request < trace_.arrivals.size(); ++request)
    tokens += trace_.tokens(request, hits[request]);
  return prompt_tokens_ ? static_cast<double>(tokens) / static_cast<double>(prompt_tokens_) : 0;
}

Regret Breakdown::regret_of(std::span<const Units> hits) const {
  Regret regret{0, has_times_ ? ages().empty() : std::vector<RegretBin>(), depths().empty(), turns().empty()};
  for (std::uint32_t request = from_; request < trace_.arrivals.size(); ++request)
    for (const Reuse& reuse : trace_.history.reuses(request)) {
      if (reuse.end <= hits[request]) continue;
      const std::uint64_t begin = trace_.tokens(request, std::max(reuse.begin, hits[request]));
      const std::uint64_t end = trace_.tokens(request, reuse.end);
      regret.tokens += end - begin;
      regret.by_turn[turns().of(trace_.turn(request))].tokens += end - begin;
      if (has_times_) {
        // The clocks of a trace's frontends may differ, so a later request may have an earlier time.
        const std::uint64_t then = trace_.arrivals[reuse.by].arrival_ms, now = trace_.arrivals[request].arrival_ms;
        regret.by_age[ages().of(now - std::min(now, then))].tokens += end - begin;
      }
      for (std::uint64_t at = begin; at < end;) {
        const std::size_t bin = depths().of(at);
        const std::uint64_t until = bin < depths().edges.size() ? std::min(end, depths().edges[bin]) : end;
        regret.by_depth[bin].tokens += until - at;
        at = until;
      }
    }
  return regret;
}

}  // namespace canopy::lab
