#include "curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "differences.h"

namespace canopy::hazard {
namespace {

constexpr double kLent = 8;         ///< observations that a coarser curve counts for
constexpr double kLentAtFirst = 4;  ///< that the curve without data does

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

/// The hazards of a class: those of its own counts and `lent` observations as in `coarser`, and of their difference
/// from `coarser` the part that is believed.
void shrink(const ReuseByAge& counts, const Hazards& coarser, double lent, double believed, Hazards& hazards) {
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double all = counts[bin].returned + counts[bin].survived;
    hazards[bin] = coarser[bin] + believed * (counts[bin].returned - all * coarser[bin]) / (all + lent);
  }
}

/// From the bin with the highest rate on, rates that do not fall are pooled with those before them: they are noise.
void smooth_behind_peak(Hazards& hazards) {
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
}

/// For each bin the most hits over time from its begin on, over all bins at whose end one could stop: a bin is joined
/// with what follows it for as long as that brings more for its time than the bin and what was joined before.
void best_ratios(const Hazards& hazards, Curves::Curve& curve) {
  struct Stretch {
    double hits, time, alive, ratio;
    std::uint8_t last;
  };
  std::array<Stretch, kBins> behind;
  std::size_t count = 0;
  for (std::size_t bin = kBins; bin-- > 0;) {
    const double hazard = hazards[bin];
    const double occupied = bin_width(bin) * (1 - 0.5 * hazard);  // a return comes in the middle of its bin
    Stretch all{hazard, occupied, 1 - hazard, hazard / occupied, static_cast<std::uint8_t>(bin)};
    for (; count > 0 && behind[count - 1].ratio > all.ratio; --count) {
      const Stretch& next = behind[count - 1];
      all.hits += all.alive * next.hits;
      all.time += all.alive * next.time;
      all.alive *= next.alive;
      all.ratio = all.hits / all.time;
      all.last = next.last;
    }
    curve.index[bin] = all.ratio * kAgesPerTurnover;
    curve.stop[bin] = all.last;
    behind[count++] = all;
  }
}

void add(ReuseByAge& to, const ReuseByAge& more) {
  for (std::size_t bin = 0; bin < kBins; ++bin) to[bin] += more[bin];
}

}  // namespace

Curves::Curves() : curves_(kAccesses, Curve{without_data()}) { forget_hints(); }

void Curves::read_off(Curve& curve) {
  Hazards smooth = curve.hazards;
  smooth_behind_peak(smooth);
  best_ratios(smooth, curve);
  curve.read = true;
}

void Curves::forget_hints() {
  for (std::size_t k = 0; k < kClasses; ++k) curve_of_[k] = static_cast<std::uint16_t>(access_in(k));
}

void Curves::fit(const ReuseCounts& counts) {
  std::array<bool, kHints> hinted{};
  for (const std::size_t k : counts.known()) {
    auto& sums = of_hint_[hint_in(k)];
    if (!std::exchange(hinted[hint_in(k)], true)) sums = {};
    add(sums[access_in(k)], counts.of(k));
  }
  if (hinted_ != hinted) forget_hints();
  hinted_ = hinted;
  std::array<ReuseByAge, kAccesses> of_access{};
  ReuseByAge all{};
  for (std::size_t access = 0; access < kAccesses; ++access) {
    for (std::size_t hint = 0; hint < kHints; ++hint)
      if (hinted[hint]) add(of_access[access], of_hint_[hint][access]);
    add(all, of_access[access]);
  }

  // A class without counts has the curve of the classes of equally many uses, under its hint if that has counts.
  Hazards whole;
  shrink(all, without_data(), kLentAtFirst, 1, whole);
  const auto hints = static_cast<std::size_t>(std::count(hinted.begin(), hinted.end(), true));
  curves_.resize(kAccesses * (1 + (hints > 1 ? hints : 0)) + counts.known().size());
  std::size_t made = 0;
  const auto make = [&](const ReuseByAge& of, const Hazards& coarser, double believed) {
    shrink(of, coarser, kLent, believed, curves_[made].hazards);
    curves_[made].read = false;
    return static_cast<std::uint16_t>(made++);
  };
  Differences of_uses;
  for (const ReuseByAge& access : of_access) of_uses.add(access, whole);
  for (const ReuseByAge& access : of_access) make(access, whole, of_uses.proven());

  Differences of_hints;
  for (std::size_t hint = 0; hint < kHints && hints > 1; ++hint)
    for (std::size_t access = 0; access < kAccesses && hinted[hint]; ++access)
      of_hints.add(of_hint_[hint][access], curves_[access].hazards);
  std::array<std::size_t, kHints> first{};  // of the curves of a hint, by uses
  for (std::size_t hint = 0; hint < kHints; ++hint) {
    if (!hinted[hint]) continue;
    if (hints > 1) {
      first[hint] = made;
      for (std::size_t access = 0; access < kAccesses; ++access)
        make(of_hint_[hint][access], curves_[access].hazards, of_hints.proven());
    }
    for (std::size_t i = 0; i < kClassesOfHint; ++i)
      curve_of_[hint * kClassesOfHint + i] = static_cast<std::uint16_t>(first[hint] + i % kAccesses);
  }

  const auto coarser = [&](std::size_t k) -> const Hazards& {
    return curves_[first[hint_in(k)] + access_in(k)].hazards;
  };
  Differences of_classes;
  for (const std::size_t k : counts.known()) of_classes.add(counts.of(k), coarser(k));
  const double believed = of_classes.proven();
  for (const std::size_t k : counts.known()) curve_of_[k] = make(counts.of(k), coarser(k), believed);
  learned_ |= counts.weight() > 0;
}

}  // namespace canopy::hazard
