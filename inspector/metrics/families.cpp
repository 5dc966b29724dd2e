#include "families.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>

namespace canopy::metrics {
namespace {

/// Labels that samples already have.
constexpr std::string_view kTaken[] = {
    "le",           "quantile",   "namespace",      "group", "state", "reason",  "how",  "policy", "reach", "source",
    "cache_source", "block_size", "num_gpu_blocks", "tier",  "lane",  "outcome", "pool", "tenant", "cause"};

/// Returns the constant labels of a set of names, changed by the user's.
Labels constant(const Figures& figures, Names names, const Labels& wanted) {
  Labels labels;
  if (names == Names::canopy) labels = {{"feed", figures.feed}};
  else labels = {{"model_name", figures.feed}};
  if (names == Names::vllm) labels.emplace_back("engine", "0");
  for (const auto& [name, value] : wanted) {
    const auto same = std::find_if(labels.begin(), labels.end(), [&](const auto& one) { return one.first == name; });
    if (same == labels.end()) labels.emplace_back(name, value);
    else same->second = value;
  }
  return labels;
}

void add_doubts(const Figures& figures, Families& to) {
  if (!figures.now) return;
  std::map<Doubt::Kind, std::uint64_t> doubts;
  for (const Doubt& doubt : figures.now->doubts) doubts[doubt.kind] += doubt.count;
  for (const auto& [kind, count] : doubts)
    to.gauge("canopy_feed_doubts", "Reasons to doubt the figures, by kind, counted. Absent: there is none.", count,
             {{"kind", std::string(name_of(kind))}});
}

}  // namespace

prometheus::ClientMetric& Families::add(std::string_view name, const char* help, prometheus::MetricType type,
                                        Labels labels) {
  auto family = std::find_if(families_.begin(), families_.end(), [&](const auto& one) { return one.name == name; });
  if (family == families_.end()) {
    families_.push_back({std::string(name), help, type, {}});
    family = std::prev(families_.end());
  }
  prometheus::ClientMetric& metric = family->metric.emplace_back();
  for (const auto& [label, value] : constant_) metric.label.push_back({label, value});
  for (auto& [label, value] : labels) metric.label.push_back({std::move(label), std::move(value)});
  return metric;
}

void Families::counter(std::string_view name, const char* help, double value, Labels labels) {
  add(name, help, prometheus::MetricType::Counter, std::move(labels)).counter.value = value;
}

void Families::gauge(std::string_view name, const char* help, double value, Labels labels) {
  add(name, help, prometheus::MetricType::Gauge, std::move(labels)).gauge.value = value;
}

void Families::histogram(std::string_view name, const char* help, const inspector::Histogram& values, Labels labels) {
  auto& histogram = add(name, help, prometheus::MetricType::Histogram, std::move(labels)).histogram;
  histogram.sample_count = values.samples();
  histogram.sample_sum = values.sum();
  const inspector::Bounds& bounds = *values.bounds();
  std::uint64_t until = 0;
  for (std::size_t i = 0; i < bounds.highest.size(); ++i)
    histogram.bucket.push_back({until += values.in(i), static_cast<double>(bounds.highest[i]) / bounds.unit});
}

std::vector<prometheus::MetricFamily> families_of(const Figures& figures, const std::vector<Names>& names,
                                                  const Labels& labels) {
  std::vector<prometheus::MetricFamily> all;
  const auto take = [&](Families& families) {
    std::vector<prometheus::MetricFamily> some = families.take();
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  };
  constexpr std::array kSets = {std::pair(Names::canopy, &add_canopy), std::pair(Names::sglang, &add_sglang),
                                std::pair(Names::vllm, &add_vllm)};
  for (const auto& [set, add] : kSets) {
    if (std::find(names.begin(), names.end(), set) == names.end()) continue;
    Families families(constant(figures, set, labels));
    add(figures, families);
    take(families);
  }
  Families doubts(constant(figures, Names::canopy, labels));  // beside any set of names
  add_doubts(figures, doubts);
  take(doubts);
  return all;
}

std::string flaw_of_label(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0]) ||
      !std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }))
    return "expected letters, digits and _, and no digit first";
  if (name.starts_with("__")) return "names that begin with __ are reserved by Prometheus";
  if (std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken))
    return "the figures already have this label";
  return {};
}

}  // namespace canopy::metrics
