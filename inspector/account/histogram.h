#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace canopy::inspector {

/// The only place that names the histograms of a range of time: values, their unit, what a sample is, and a text for
/// people.
#define CANOPY_RANGE_HISTOGRAMS(X)                                                                                     \
  X(reuse, "reuse distance", tokens, "token",                                                                          \
    "Prompt tokens that arrived between two uses of a cached token. A policy without foresight needs about this much " \
    "room to keep it.")                                                                                                \
  X(lifetime, "lifetime", us, "token", "Time from the insertion of a token to its eviction from the first group.")     \
  X(depth, "depth of hits", tokens, "request",                                                                         \
    "Tokens from the root to the end of what a request found. Requests that found nothing are not counted.")           \
  X(prompt, "prompt length", tokens, "request", "Tokens of the prompts of requests that began.")

// clang-format off
enum class Measure : std::uint8_t {
#define CANOPY_NAME(name, ...) name,
  CANOPY_RANGE_HISTOGRAMS(CANOPY_NAME)
#undef CANOPY_NAME
};
enum class MeasureUnit : std::uint8_t { tokens, us };
// clang-format on

struct MeasureInfo {
  const char *name, *words;
  MeasureUnit unit;
  const char *sample, *help;  ///< sample: noun
};
inline constexpr MeasureInfo kMeasures[] = {
#define CANOPY_ROW(name, words, unit, sample, help) {#name, words, MeasureUnit::unit, sample, help},
    CANOPY_RANGE_HISTOGRAMS(CANOPY_ROW)
#undef CANOPY_ROW
};

/// Bounds of classes: each class has the values up to its bound, and one more all above the last bound.
struct Bounds {
  std::span<const std::uint64_t> highest;  ///< ascending
  double unit = 1;                         ///< number of values in a unit of the sum: 1e6 for microseconds in seconds
};

/// Number of samples by value, in classes.
class Histogram {
 public:
  /// Has two classes for each doubling: 0, 1, 2, 3, 4 to 5, 6 to 7, 8 to 11 ...
  Histogram() = default;
  /// REQUIRES: the bounds outlive the histogram.
  explicit Histogram(const Bounds& bounds) : bounds_(&bounds) {}

  void add(std::uint64_t value, std::uint64_t samples = 1);
  /// Adds the samples of a histogram with the same classes.
  void add(const Histogram& other);

  /// Returns the bounds; null for two classes a doubling.
  const Bounds* bounds() const { return bounds_; }
  /// Returns the samples of a class.
  std::uint64_t in(std::size_t place) const { return place < counts_.size() ? counts_[place] : 0; }
  /// Returns one more than the highest class with a sample.
  std::size_t classes() const { return counts_.size(); }
  std::uint64_t samples() const;
  /// Returns the sum of the values, in Bounds::unit.
  double sum() const { return sum_; }

  // For two classes a doubling:
  /// Returns the class of a value.
  static std::size_t class_of(std::uint64_t value);
  /// Returns the lowest value of a class; the highest number behind the last class.
  static std::uint64_t lowest(std::size_t place);
  /// Returns the value below which lies this share of the samples, evenly spread within a class; 0 without samples.
  std::uint64_t quantile(double share) const;

 private:
  const Bounds* bounds_ = nullptr;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

/// By Measure.
using Histograms = std::array<Histogram, std::size(kMeasures)>;

}  // namespace canopy::inspector
