#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "figures.h"

namespace canopy::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Families of metrics in the order of their first use. Each sample has the constant labels, then its own.
class Families {
 public:
  explicit Families(Labels constant) : constant_(std::move(constant)) {}

  /// REQUIRES: one kind for each name; a counter's name ends in _total. The help of the first call is used.
  void counter(std::string_view name, const char* help, double value, Labels labels);
  void counter(std::string_view name, const char* help, std::uint64_t value, Labels labels = {}) {
    counter(name, help, static_cast<double>(value), std::move(labels));
  }
  void gauge(std::string_view name, const char* help, double value, Labels labels = {});
  void gauge(std::string_view name, const char* help, std::uint64_t value, Labels labels = {}) {
    gauge(name, help, static_cast<double>(value), std::move(labels));
  }
  /// Adds nothing if there is no value.
  template <class Number>
  void gauge(std::string_view name, const char* help, const std::optional<Number>& value, Labels labels = {}) {
    if (value) gauge(name, help, *value, std::move(labels));
  }
  /// REQUIRES: the histogram has bounds.
  void histogram(std::string_view name, const char* help, const inspector::Histogram& values, Labels labels = {});

  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& add(std::string_view name, const char* help, prometheus::MetricType type, Labels labels);

  Labels constant_;
  std::vector<prometheus::MetricFamily> families_;
};

/// The naming scheme of the figures.
enum class Names : std::uint8_t { canopy, sglang, vllm };

/// Returns the result of a scrape. `labels` are added to each sample and replace constant labels of the same name. The
/// constant labels are feed for Canopy's names, model_name for SGLang's, model_name and engine for vLLM's.
std::vector<prometheus::MetricFamily> families_of(const Figures& figures, const std::vector<Names>& names,
                                                  const Labels& labels);
/// Returns the reason why a user's label cannot be added; empty if it can.
std::string flaw_of_label(const std::string& name);

// Called by families_of(), one file each.
void add_canopy(const Figures& figures, Families& to);
void add_sglang(const Figures& figures, Families& to);
void add_vllm(const Figures& figures, Families& to);

}  // namespace canopy::metrics
