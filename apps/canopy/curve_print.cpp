#include "curve_print.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "listing_print.h"

namespace canopy::app {
namespace {

using lab::Curve;
using lab::CurvePoint;
using lab::Curves;
using listing::Unit;

const CurvePoint* point_at(const Curve& curve, std::uint64_t capacity) {
  const auto found = std::find_if(curve.points.begin(), curve.points.end(),
                                  [&](const CurvePoint& point) { return point.capacity_tokens == capacity; });
  return found == curve.points.end() ? nullptr : &*found;
}

std::string rate_of(const CurvePoint& point) {
  return point.error ? fmt::format("{} +-{:.2f}", percent(point.hit_rate), *point.error * 100)
                     : percent(point.hit_rate);
}

/// Returns a bar whose length is the reused share of all reusable tokens.
std::string bar_of(const CurvePoint& point, const Curve& curve, bool unicode) {
  constexpr double kWidth = 40;
  if (curve.infinite_tokens == 0) return "";
  const double share = static_cast<double>(point.hit_tokens) / static_cast<double>(curve.infinite_tokens);
  std::string bar;
  for (long i = std::lround(std::clamp(share, 0.0, 1.0) * kWidth); i > 0; --i) bar += unicode ? "█" : "#";
  return bar;
}

void print_table(const Curves& curves, const Terminal& terminal) {
  const Curve& first = curves.curves.front();
  const bool one = curves.curves.size() == 1;
  listing::Listing<CurvePoint> list;
  list.add("capacity", Unit::count, [](const CurvePoint& point) { return point.capacity_tokens; });
  for (const Curve& curve : curves.curves)
    list.add(one ? "hit rate" : fmt::format("page {}", curve.page_size), Unit::count,
             [&curve](const CurvePoint& point) {
               const CurvePoint* const same = point_at(curve, point.capacity_tokens);
               return same ? listing::Value(rate_of(*same)) : listing::Value();
             });
  list.add("of all reusable", Unit::count,
           [&first](const CurvePoint& point) { return listing::Share{point.hit_tokens, first.infinite_tokens}; });
  list.add("", Unit::text, [&](const CurvePoint& point) { return bar_of(point, first, terminal.unicode); });
  print_list(list, first.points, terminal);
  fmt::print("\n");
}

void print_pool(const Curves& curves) {
  const Curve& curve = curves.curves.front();
  const CurvePoint* const pool = point_at(curve, curves.pool_tokens);
  const CurvePoint* const twice = point_at(curve, curves.pool_tokens * 2);
  const CurvePoint* const half = point_at(curve, curves.pool_tokens / 2);
  if (!pool || !twice) return;
  fmt::print("Your pool of {} tokens reuses {} of the prompts, {} of what a pool without a limit would",
             grouped(curves.pool_tokens), rate_of(*pool), percent(pool->hit_tokens, curve.infinite_tokens));
  if (pool->stay_ms)
    fmt::print("; a prefix stays about {} after its last use", duration(static_cast<double>(*pool->stay_ms) / 1000));
  fmt::print(".\n");
  const double gain = (twice->hit_rate - pool->hit_rate) * 100;
  if (gain < 0.005) fmt::print("Doubling it gains nothing.\n");
  else fmt::print("Doubling it gains {:.2f} points, to {}.\n", gain, rate_of(*twice));
  if (half) fmt::print("Halving it would cost {:.2f} points.\n", (pool->hit_rate - half->hit_rate) * 100);
}

void print_sentences(const Curves& curves, const Terminal& terminal) {
  const Curve& curve = curves.curves.front();
  const bool sampled = curves.sample < 1;
  for (const lab::NodeReplay& replay : curves.replays)
    for (const std::string& sentence : replay.reports)
      fmt::print("{} at {} tokens, `canopy replay`: {}\n", terminal.red("violation:"), grouped(replay.capacity_tokens),
                 printable(sentence));
  Doubts doubts = curves.doubts;
  for (const lab::NodeReplay& replay : curves.replays)
    for (const Doubt& doubt : replay.doubts)
      doubts.push_back(
          {doubt.kind, doubt.count,
           fmt::format("at {} tokens, `canopy replay`: {}", grouped(replay.capacity_tokens), doubt.sentence)});
  print_doubts(doubts, stdout, terminal);
  print_notes(curves.notes, terminal);
  if (curve.infinite_tokens == 0) {
    fmt::print("No request repeats a prefix of an earlier one, so a pool of any size reuses nothing.\n");
    return;
  }
  if (curves.pool_tokens > 0) print_pool(curves);
  const auto pool_of = [&](std::uint64_t tokens) {
    return fmt::format("{}{} tokens", tokens <= curve.least_capacity ? "at most " : "", grouped(tokens));
  };
  fmt::print("To reuse half of all reusable tokens takes a pool of {}, nine tenths one of {}.\n",
             pool_of(curve.half_tokens), pool_of(curve.most_tokens));
  fmt::print(
      "Beyond {} tokens{}, more gains nothing: all {} that were requested before are resident, {} of the prompts.\n",
      grouped(curve.enough_tokens), sampled ? " (estimated)" : "", plural(curve.infinite_tokens, "token"),
      percent(curve.infinite_tokens, curve.prompt_tokens));
  for (std::size_t i = 1; i < curves.curves.size(); ++i) {
    const Curve& other = curves.curves[i];
    const auto lost =
        static_cast<std::int64_t>(curve.infinite_tokens) - static_cast<std::int64_t>(other.infinite_tokens);
    fmt::print("Pages of {} can reuse {} tokens {} than pages of {}.\n", other.page_size,
               grouped(static_cast<std::uint64_t>(std::abs(lost))), lost < 0 ? "more" : "fewer", curve.page_size);
  }
  for (const lab::NodeReplay& replay : curves.replays) {
    const CurvePoint* const point = point_at(curve, replay.capacity_tokens);
    if (!replay.is_sound() || !point || point->hit_tokens == 0) continue;
    const double difference = static_cast<double>(replay.hit_tokens) / static_cast<double>(point->hit_tokens) - 1;
    fmt::print(
        "At {} tokens `canopy replay`, which evicts whole nodes, reuses {}: {}{:.2f} % compared with this curve.\n",
        grouped(replay.capacity_tokens), plural(replay.hit_tokens, "token"), difference < 0 ? "-" : "+",
        std::abs(difference) * 100);
  }
  if (sampled) {
    if (curve.least_capacity > curve.page_size)
      fmt::print("Pools below {} tokens are too small for this sample.\n", grouped(curve.least_capacity));
    double most = 0;
    for (const CurvePoint& point : curve.points) most = std::max(most, point.error.value_or(0));
    fmt::print(
        "This is a sample of {} of the pages: with 95 % confidence, each hit rate is correct within the error behind "
        "it, at most {:.2f} points.\n",
        percent(curves.sample), most * 100);
  }
  if (!curve.points.empty() && curve.points.front().capacity_tokens < curve.largest_request)
    fmt::print(
        "{} the largest request has {}: a smaller pool keeps the first of them here, and `canopy replay` rejects it\n",
        terminal.yellow("note:"), plural(curve.largest_request, "token"));
}

}  // namespace

void print(const Curves& curves, const Terminal& terminal) {
  const Curve& first = curves.curves.front();
  fmt::print(
      "{}  {}\n\n", terminal.bold("LRU, leaves trimmed"),
      terminal.dim(fmt::format("on {}, {}{}, {} of {}", printable(curves.source),
                               curves.blocks               ? fmt::format("blocks of {}", first.page_size)
                               : curves.curves.size() == 1 ? fmt::format("page {}", first.page_size)
                                                           : fmt::format("{} page sizes", curves.curves.size()),
                               curves.warm_up ? fmt::format(", {} to warm up", plural(curves.warm_up, "request")) : "",
                               plural(first.requests, "request"), plural(first.prompt_tokens, "token"))));
  print_table(curves, terminal);
  print_sentences(curves, terminal);
}

}  // namespace canopy::app
