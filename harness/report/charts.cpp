#include "charts.h"

#include "figures_of.h"
#include "html.h"
#include "line_chart.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace canopy::report {
namespace {

std::string figure(const std::string& svg, const std::string& id, const std::string& caption) {
  return fmt::format(
      "<figure><div class=\"scroll\">{}</div><figcaption>{} <button class=\"save\" type=\"button\" data-chart=\"{}\" "
      "hidden>Save as SVG</button></figcaption></figure>\n",
      svg, caption, html(id));
}

Line line_of(const lab::Comparison& comparison, const Contender& contender, const std::vector<double>& places) {
  Line line{contender.name, contender.style, contender.kind != Contender::Kind::policy, false, {}};
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i) {
    const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[i]);
    if (!row) continue;
    std::string tip = fmt::format("{} at {}: {} of the prompt tokens, {} tokens", contender.name,
                                  capacity_words(comparison, i), percent(row->hit_rate), grouped(row->hit_tokens));
    if (row->optimum_share && contender.kind == Contender::Kind::policy)
      tip += fmt::format(", {} of the optimum", percent(*row->optimum_share));
    line.points.push_back({places[i], row->hit_rate, std::move(tip)});
  }
  return line;
}

/// One histogram of all policies.
using Bins = std::vector<lab::RegretBin>;
std::string regret_chart(const lab::Comparison& comparison, std::size_t capacity, const char* kind, const char* title,
                         const std::function<const Bins&(const lab::Regret&)>& bins_of) {
  std::vector<std::pair<const Contender*, const Bins*>> all;
  const std::vector<Contender> contenders = contenders_of(comparison);
  std::size_t first = ~std::size_t{0}, end = 0;
  for (const Contender& contender : contenders) {
    if (contender.kind != Contender::Kind::policy) continue;
    const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[capacity]);
    if (!row) continue;
    const Bins& bins = bins_of(row->regret);
    all.emplace_back(&contender, &bins);
    for (std::size_t i = 0; i < bins.size(); ++i)
      if (bins[i].tokens > 0) first = std::min(first, i), end = std::max(end, i + 1);
  }
  if (first >= end) return {};
  LineChart chart;
  chart.id = fmt::format("regret-{}-{}", kind, capacity);
  chart.title =
      fmt::format("Tokens evicted and asked for again at {}, {}", capacity_words(comparison, capacity), title);
  chart.names_at_ends = false;
  chart.width = 480;
  chart.height = 320;
  chart.most = 0;
  const double last = end - first > 1 ? static_cast<double>(end - first - 1) : 1;
  for (const auto& [contender, bins] : all) {
    Line line{contender->name, contender->style, false, false, {}};
    for (std::size_t i = first; i < std::min(end, bins->size()); ++i) {
      const double at = static_cast<double>(i - first) / last;
      if (chart.ticks.size() < end - first && chart.lines.empty()) chart.ticks.push_back({at, (*bins)[i].name});
      line.points.push_back(
          {at, static_cast<double>((*bins)[i].tokens),
           fmt::format("{}, {}: {} tokens", contender->name, (*bins)[i].name, grouped((*bins)[i].tokens))});
    }
    chart.lines.push_back(std::move(line));
  }
  return figure(svg_of(chart), chart.id, title);
}

}  // namespace

std::string hit_chart(const lab::Comparison& comparison) {
  std::vector<double> places;
  const auto& capacities = comparison.capacities;
  if (capacities.empty()) return {};
  const auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  const double from = std::log(static_cast<double>(*least)), span = std::log(static_cast<double>(*most)) - from;
  LineChart chart;
  chart.id = "hits";
  chart.title = "Hit rate over capacity, for each policy";
  chart.x_name =
      comparison.bytes_per_token ? "Memory for the KV cache, logarithmic" : "Capacity in tokens, logarithmic";
  chart.y_name = "Prompt tokens reused";
  chart.percent = true;
  chart.most = 0.01;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    places.push_back(span > 0 ? (std::log(static_cast<double>(capacities[i])) - from) / span : 0.5);
    chart.ticks.push_back({places.back(), capacity_name(comparison, i)});
  }
  for (const Contender& contender : contenders_of(comparison)) {
    chart.lines.push_back(line_of(comparison, contender, places));
    auto& points = chart.lines.back().points;
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  }
  std::sort(chart.ticks.begin(), chart.ticks.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  // The room above the lower of the two bounds.
  const auto bound = [&](const char* name) {
    return std::find_if(chart.lines.begin(), chart.lines.end(),
                        [&](const Line& line) { return line.is_bound && line.name == name; });
  };
  auto lowest = bound("optimum");
  if (lowest == chart.lines.end()) lowest = bound("infinite");
  if (lowest != chart.lines.end()) lowest->hatched = true;
  return figure(
      svg_of(chart), chart.id,
      lowest != chart.lines.end()
          ? "Share of the prompt tokens that were in the cache. The hatched room is out of reach for any policy."
          : "Share of the prompt tokens that were in the cache.");
}

std::string regret_charts(const lab::Comparison& comparison, std::size_t capacity) {
  return regret_chart(comparison, capacity, "age", "Tokens by the time since they were last asked for",
                      [](const lab::Regret& regret) -> const Bins& { return regret.by_age; }) +
         regret_chart(comparison, capacity, "depth", "Tokens by their depth in the prompt",
                      [](const lab::Regret& regret) -> const Bins& { return regret.by_depth; }) +
         regret_chart(comparison, capacity, "turn", "Tokens by the turn that asked again",
                      [](const lab::Regret& regret) -> const Bins& { return regret.by_turn; });
}

std::string legend(const lab::Comparison& comparison) {
  std::string out = "<p class=\"legend\">";
  for (const Contender& contender : contenders_of(comparison))
    if (contender.kind == Contender::Kind::policy)
      out += fmt::format("<span>{}{}</span> ", key_of(contender.style), html(contender.name));
  return out + "</p>\n";
}

}  // namespace canopy::report
