#include "prefix_history.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace canopy::hazard {
std::size_t PrefixHistory::Generation::first_place(std::uint64_t print) const {
  const int bits = std::countr_zero(places.size());
  return static_cast<std::size_t>((print * 0x9E3779B97F4A7C15U) >> (64 - bits));
}

const PrefixHistory::Entry* PrefixHistory::Generation::find(std::uint64_t print) const {
  if (places.empty()) return nullptr;
  for (std::size_t at = first_place(print);; at = (at + 1) & (places.size() - 1)) {
    if (places[at].count() == 0) return nullptr;
    if (places[at].print() == print) return &places[at];
  }
}

PrefixHistory::Entry& PrefixHistory::Generation::place_of(std::uint64_t print) {
  std::size_t at = first_place(print);
  while (places[at].count() != 0 && places[at].print() != print) at = (at + 1) & (places.size() - 1);
  return places[at];
}

void PrefixHistory::Generation::reserve(std::size_t count) {
  if (count * 2 <= places.size()) return;
  const std::vector<Entry> before =
      std::exchange(places, std::vector<Entry>(std::bit_ceil(std::max(count * 4, std::size_t{1024}))));
  for (const Entry& entry : before)
    if (entry.count() != 0) place_of(entry.print()) = entry;
}

void PrefixHistory::Generation::clear() {
  std::fill(places.begin(), places.end(), Entry{});
  size = 0;
}

void PrefixHistory::prefetch_behind(std::span<const std::uint64_t> prints, std::size_t at) const {
  constexpr std::size_t kAhead = 8;
  if (at + kAhead >= prints.size()) return;
  young_.prefetch(prints[at + kAhead]);
  old_.prefetch(prints[at + kAhead]);
}

std::size_t PrefixHistory::known(std::span<const std::uint64_t> prints) const {
  std::size_t known = 0;
  for (; known < prints.size(); ++known) {
    prefetch_behind(prints, known);
    if (!young_.find(prints[known]) && !old_.find(prints[known])) break;
  }
  return known;
}

void PrefixHistory::promise(std::size_t count) {
  if (young_.size + count > limit_) {
    std::swap(young_, old_);
    young_.clear();
  }
  young_.reserve(young_.size + count);
}

PrefixHistory::Entry& PrefixHistory::use(std::uint64_t print) {
  Entry& entry = young_.place_of(print);
  if (entry.count() != 0) return entry;
  ++young_.size;
  const Entry* before = old_.find(print);
  entry = before ? *before : Entry(print);
  return entry;
}

}  // namespace canopy::hazard
