#include "histogram.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace canopy::inspector {

std::size_t Histogram::class_of(std::uint64_t value) {
  if (value < 2) return static_cast<std::size_t>(value);
  const auto octave = static_cast<std::size_t>(std::bit_width(value)) - 1;  // at least 1
  return 2 * octave + (value >> (octave - 1) & 1);
}

std::uint64_t Histogram::lowest(std::size_t place) {
  if (place < 2) return place;
  const std::size_t octave = place / 2;
  if (octave > 63) return ~std::uint64_t{0};
  return (std::uint64_t{2} + place % 2) << (octave - 1);
}

void Histogram::add(std::uint64_t value, std::uint64_t samples) {
  if (samples == 0) return;
  const auto place =
      bounds_ ? static_cast<std::size_t>(std::ranges::lower_bound(bounds_->highest, value) - bounds_->highest.begin())
              : class_of(value);
  if (counts_.size() <= place) counts_.resize(place + 1);
  counts_[place] += samples;
  sum_ += static_cast<double>(value) / (bounds_ ? bounds_->unit : 1) * static_cast<double>(samples);
}

void Histogram::add(const Histogram& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  sum_ += other.sum_;
}

std::uint64_t Histogram::samples() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

std::uint64_t Histogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(samples());
  double below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto here = static_cast<double>(counts_[i]);
    if (here > 0 && below + here >= wanted) {
      const double from = static_cast<double>(lowest(i)), to = static_cast<double>(lowest(i + 1));
      return static_cast<std::uint64_t>(from + (to - from) * std::clamp((wanted - below) / here, 0.0, 1.0));
    }
    below += here;
  }
  return 0;
}

}  // namespace canopy::inspector
