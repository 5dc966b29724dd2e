#include "curves.h"

#include <algorithm>
#include <cmath>

namespace canopy::hazard {
namespace {

constexpr double kShrink = 16;  ///< observations that a coarser curve counts for

using Hazards = Curves::Hazards;

/// In proportion to the part of the bin in the logarithm of the age: a hazard of about 0.3 / age.
const Hazards& without_data() {
  static const Hazards hazards = [] {
    Hazards all;
    for (std::size_t bin = 0; bin < kBins; ++bin)
      all[bin] = std::min(0.9, 0.3 * std::log((kBinEdges[bin + 1] + 20) / (kBinEdges[bin] + 20)));
    return all;
  }();
  return hazards;
}

Hazards shrunk(const ReuseByAge& counts, const Hazards& coarser) {
  Hazards hazards;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const Reuse& count = counts[bin];
    hazards[bin] = (count.returned + kShrink * coarser[bin]) / (count.returned + count.survived + kShrink);
  }
  return hazards;
}

/// From the bin with the highest rate on, rates that do not fall are pooled with those before them: they are noise.
/// Returns that bin.
std::size_t smooth_behind_peak(Hazards& hazards) {
  struct Pool {
    double rate, width;
    std::size_t bins;
  };
  std::array<double, kBins> rates;
  for (std::size_t bin = 0; bin < kBins; ++bin)
    rates[bin] = -std::log1p(-std::min(hazards[bin], 0.99)) / bin_width(bin);
  const auto peak = static_cast<std::size_t>(std::max_element(rates.begin(), rates.end()) - rates.begin());

  std::array<Pool, kBins> pools;
  std::size_t count = 0;
  for (std::size_t bin = peak; bin < kBins; ++bin) {
    Pool last{rates[bin], bin_width(bin), 1};
    for (; count > 0 && pools[count - 1].rate < last.rate; --count) {
      const Pool& before = pools[count - 1];
      const double width = before.width + last.width;
      last = {(before.rate * before.width + last.rate * last.width) / width, width, before.bins + last.bins};
    }
    pools[count++] = last;
  }
  std::size_t bin = peak;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t end = bin + pools[i].bins; bin < end; ++bin)
      if (pools[i].bins > 1) hazards[bin] = -std::expm1(-pools[i].rate * bin_width(bin));
  return peak;
}

/// The best hits over time from each bin's begin on, over all bins at whose end one could stop. Behind the peak the
/// rates only fall, so a bin of lower rate than the best so far ends the search.
void best_ratios(const Hazards& hazards, std::size_t peak, Curves::Curve& curve) {
  auto& best = curve.index;
  for (std::size_t from = 0; from < kBins; ++from) {
    double alive = 1, hits = 0, time = 0;
    for (std::size_t bin = from; bin < kBins; ++bin) {
      const double occupied = bin_width(bin) * (1 - 0.5 * hazards[bin]);  // a return comes in the middle of its bin
      if (bin > peak && hazards[bin] < best[from] * occupied) break;
      hits += alive * hazards[bin];
      time += alive * occupied;
      alive *= 1 - hazards[bin];
      if (const double ratio = hits / time; ratio > best[from] || bin == from)
        best[from] = ratio, curve.stop[from] = static_cast<std::uint8_t>(bin);
    }
  }
}

void add(ReuseByAge& to, const ReuseByAge& more) {
  for (std::size_t bin = 0; bin < kBins; ++bin) to[bin] += more[bin];
}

}  // namespace

Curves::Curves() { curves_.push_back({without_data()}); }

void Curves::read_off(Curve& curve) {
  Hazards smooth = curve.hazards;
  const std::size_t peak = smooth_behind_peak(smooth);
  best_ratios(smooth, peak, curve);
  for (double& index : curve.index) index *= kAgesPerTurnover;
  curve.read = true;
}

void Curves::fit(const ReuseCounts& counts) {
  ReuseByAge all{};
  std::array<ReuseByAge, kAccesses> of_access{};
  std::array<std::array<ReuseByAge, kAccesses>, kHints> of_hint{};
  std::array<bool, kHints> hinted{};
  for (const std::size_t k : counts.known()) {
    const ReuseByAge& one = counts.of(k);
    add(all, one);
    add(of_access[access_in(k)], one);
    add(of_hint[hint_in(k)][access_in(k)], one);
    hinted[hint_in(k)] = true;
  }
  const bool several_hints = std::count(hinted.begin(), hinted.end(), true) > 1;

  curves_.clear();
  const Hazards whole = shrunk(all, without_data());
  std::array<Hazards, kAccesses> by_access;
  for (std::size_t access = 0; access < kAccesses; ++access) {
    by_access[access] = shrunk(of_access[access], whole);
    curves_.push_back({by_access[access]});
  }
  // A class without counts has the curve of the classes of equally many uses, under its hint if that has counts.
  std::array<std::array<Hazards, kAccesses>, kHints> by_hint;
  for (std::size_t hint = 0; hint < kHints; ++hint)
    for (std::size_t access = 0; access < kAccesses; ++access) {
      std::size_t curve = access;
      by_hint[hint][access] = by_access[access];
      if (several_hints && hinted[hint]) {
        by_hint[hint][access] = shrunk(of_hint[hint][access], by_access[access]);
        curve = curves_.size();
        curves_.push_back({by_hint[hint][access]});
      }
      for (std::size_t i = access; i < kClassesOfHint; i += kAccesses)
        curve_of_[hint * kClassesOfHint + i] = static_cast<std::uint16_t>(curve);
    }
  for (const std::size_t k : counts.known()) {
    curve_of_[k] = static_cast<std::uint16_t>(curves_.size());
    curves_.push_back({shrunk(counts.of(k), by_hint[hint_in(k)][access_in(k)])});
  }
  learned_ |= counts.weight() > 0;
}

}  // namespace canopy::hazard
