#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "figures.h"

namespace canopy::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Families of metrics in the order in which they are named first. Every sample has the constant labels, then its own.
class Families {
 public:
  explicit Families(Labels constant) : constant_(std::move(constant)) {}

  /// REQUIRES: one kind for each name; a counter's name ends in _total. The first call's help counts.
  void counter(const char* name, const char* help, std::uint64_t value, Labels labels = {});
  /// A counter of seconds.
  void counter_us(const char* name, const char* help, std::uint64_t us, Labels labels = {});
  void gauge(const char* name, const char* help, double value, Labels labels = {});
  void gauge(const char* name, const char* help, std::uint64_t value, Labels labels = {}) {
    gauge(name, help, static_cast<double>(value), std::move(labels));
  }
  /// Nothing is left out.
  template <class Number>
  void gauge(const char* name, const char* help, const std::optional<Number>& value, Labels labels = {}) {
    if (value) gauge(name, help, *value, std::move(labels));
  }
  void histogram(const char* name, const char* help, const Histogram& values, Labels labels = {});

  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& add(const char* name, const char* help, prometheus::MetricType type, Labels labels);

  Labels constant_;
  std::vector<prometheus::MetricFamily> families_;
};

/// Whose names the figures have.
enum class Names : std::uint8_t { canopy, sglang, vllm };

/// What a scrape answers. `labels` are added to each sample; they replace the constant labels of the same name, which
/// are feed for Canopy's names, model_name for SGLang's, model_name and engine for vLLM's.
std::vector<prometheus::MetricFamily> families_of(const Figures& figures, const std::vector<Names>& names,
                                                  const Labels& labels);
/// Why a label of the user cannot be added; empty if it can.
std::string flaw_of_label(const std::string& name);

// A file each; families_of() calls the first three.
void add_canopy(const Figures& figures, Families& to);
void add_sglang(const Figures& figures, Families& to);
void add_vllm(const Figures& figures, Families& to);
void add_storage(const StorageNow& now, Families& to);
void add_storage_counts(const StorageCounts& storage, Families& to);

}  // namespace canopy::metrics
