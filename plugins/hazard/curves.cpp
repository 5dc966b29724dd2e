#include "curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "differences.h"

namespace canopy::hazard {
namespace {

constexpr double kLent = 8;         ///< weight of a coarser curve, in observations
constexpr double kLentAtFirst = 4;  ///< weight of the curve without data
constexpr double kYoungest = 20;    ///< ages below it are treated alike without data

/// Returns the hazards without data, in proportion to each bin's part of the logarithm of the age: about 0.3 / age.
const Believed& without_data() {
  static const Believed believed = [] {
    Believed all;
    for (std::size_t bin = 0; bin < kBins; ++bin)
      all.hazards[bin] = std::min(0.9, 0.3 * std::log((kBinEdges[bin + 1] + kYoungest) / (kBinEdges[bin] + kYoungest)));
    return all;
  }();
  return believed;
}

/// Estimates a class from its own counts and `lent` observations as in `coarser`. `part`: the share of the difference
/// from `coarser` that counts.
void shrink(const ReuseByAge& counts, const Believed& coarser, double lent, double part, Believed& believed) {
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double all = counts[bin].returned + counts[bin].survived, common = coarser.hazards[bin];
    believed.hazards[bin] = common + part * (counts[bin].returned - all * common) / (all + lent);
    believed.seen[bin] = coarser.seen[bin] + part * (all + lent - coarser.seen[bin]);
  }
}

void add(ReuseByAge& to, const ReuseByAge& more) {
  for (std::size_t bin = 0; bin < kBins; ++bin) to[bin] += more[bin];
}

}  // namespace

Curves::Curves() : curves_(kAccesses), believed_(kAccesses, without_data()) {
  by_age_.fill(1);
  forget_hints();
}

void Curves::forget_hints() {
  for (std::size_t k = 0; k < kClasses; ++k) curve_of_[k] = static_cast<std::uint16_t>(access_in(k));
}

void Curves::fit(const ReuseCounts& counts, double caution) {
  for (std::size_t bin = 0; bin < kBins; ++bin)
    by_age_[bin] = std::pow((kBinEdges[bin] + kYoungest) / kAgesPerTurnover, -caution);
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

  // A class without counts has the curve of the classes with the same number of uses, under its hint if that has
  // counts.
  Believed whole;
  shrink(all, without_data(), kLentAtFirst, 1, whole);
  const auto hints = static_cast<std::size_t>(std::count(hinted.begin(), hinted.end(), true));
  const std::size_t size = kAccesses * (1 + (hints > 1 ? hints : 0)) + counts.known().size();
  curves_.resize(size), believed_.resize(size);
  std::size_t made = 0;
  const auto make = [&](const ReuseByAge& of, const Believed& coarser, double part) {
    shrink(of, coarser, kLent, part, believed_[made]);
    curves_[made].read = false;
    return static_cast<std::uint16_t>(made++);
  };
  Differences of_uses;
  for (const ReuseByAge& access : of_access) of_uses.add(access, whole.hazards);
  for (const ReuseByAge& access : of_access) make(access, whole, of_uses.proven());

  Differences of_hints;
  for (std::size_t hint = 0; hint < kHints && hints > 1; ++hint)
    for (std::size_t access = 0; access < kAccesses && hinted[hint]; ++access)
      of_hints.add(of_hint_[hint][access], believed_[access].hazards);
  std::array<std::size_t, kHints> first{};  // first curve of each hint; its curves are ordered by uses
  for (std::size_t hint = 0; hint < kHints; ++hint) {
    if (!hinted[hint]) continue;
    if (hints > 1) {
      first[hint] = made;
      for (std::size_t access = 0; access < kAccesses; ++access)
        make(of_hint_[hint][access], believed_[access], of_hints.proven());
    }
    for (std::size_t i = 0; i < kClassesOfHint; ++i)
      curve_of_[hint * kClassesOfHint + i] = static_cast<std::uint16_t>(first[hint] + i % kAccesses);
  }

  const auto coarser = [&](std::size_t k) -> const Believed& { return believed_[first[hint_in(k)] + access_in(k)]; };
  Differences of_classes;
  for (const std::size_t k : counts.known()) of_classes.add(counts.of(k), coarser(k).hazards);
  const double part = of_classes.proven();
  for (const std::size_t k : counts.known()) curve_of_[k] = make(counts.of(k), coarser(k), part);
  learned_ = learned_ || counts.weight() > 0;
}

}  // namespace canopy::hazard
