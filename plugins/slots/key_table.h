#pragma once

#include <canopy/page_storage.h>

#include <bit>
#include <vector>

#include "table_file.h"

namespace canopy::slots {

/// Maps keys to slots: a table of slot numbers with open addressing, at most half full. The entries hold the keys.
class KeyTable {
 public:
  KeyTable(const TableFile& entries, Slot slots)
      : entries_(entries), places_(std::bit_ceil(std::size_t{slots} * 2 + 2), kNoSlot) {}

  Slot find(const PageKey& key) const { return places_[place_of(key)]; }
  /// REQUIRES: the slot's entry has a key that is not in the table.
  void add(Slot slot) { places_[place_of(entries_[slot].key)] = slot; }
  /// REQUIRES: the key is in the table, and its slot's entry still has it.
  void remove(const PageKey& key) {
    std::size_t empty = place_of(key);
    places_[empty] = kNoSlot;
    // Later elements of the chain that could no longer be found move into the empty place.
    for (std::size_t at = next(empty); places_[at] != kNoSlot; at = next(at)) {
      const std::size_t home = home_of(entries_[places_[at]].key);
      const bool reached = ((at - home) & mask()) < ((at - empty) & mask());
      if (reached) continue;
      places_[empty] = places_[at];
      places_[at] = kNoSlot;
      empty = at;
    }
  }

 private:
  std::size_t mask() const { return places_.size() - 1; }
  std::size_t next(std::size_t place) const { return (place + 1) & mask(); }
  /// Returns the first place of a key. The first word is already a hash; the product also spreads the keys of tests.
  std::size_t home_of(const PageKey& key) const {
    return static_cast<std::size_t>(key.bits[0] * 0x9E3779B97F4A7C15u >> (64 - std::bit_width(mask())));
  }
  /// Returns the place of the key, or the free place for it.
  std::size_t place_of(const PageKey& key) const {
    std::size_t place = home_of(key);
    while (places_[place] != kNoSlot && !(entries_[places_[place]].key == key)) place = next(place);
    return place;
  }

  const TableFile& entries_;
  std::vector<Slot> places_;
};

}  // namespace canopy::slots
