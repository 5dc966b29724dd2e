#pragma once

#include <canopy/helpers/prefetch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lives.h"

namespace canopy::hazard {

/// Remembers which prefixes were used and how often, long after their nodes were evicted. There are two generations. A
/// used prefix is young. When `limit` prefixes are young, the old ones are forgotten and the young ones become old. So
/// at least the last `limit` prefixes are known.
class PrefixHistory {
 public:
  /// An entry of 16 bytes for a prefix. An entry with count 0 is new.
  class Entry {
   public:
    Entry() = default;
    explicit Entry(std::uint64_t print) : print_(print) {}
    std::uint64_t print() const { return print_; }
    std::uint32_t count() const { return static_cast<std::uint32_t>(word_ & kMostCounted); }
    Lives::Id life() const { return word_ >> kLifeAt; }
    /// REQUIRES: 0 < count <= kMostCounted.
    void set(std::uint32_t count, Lives::Id life) { word_ = life << kLifeAt | kYoung | count; }
    bool is_young() const { return word_ & kYoung; }
    void make_young() { word_ |= kYoung; }
    void make_old() { word_ &= ~kYoung; }

   private:
    static constexpr std::uint64_t kMostCounted = 7, kYoung = 8;
    static constexpr int kLifeAt = 4;
    std::uint64_t print_ = 0, word_ = 0;
  };

  /// Sets the maximum number of prefixes in a generation.
  void limit(std::size_t prefixes) { limit_ = prefixes; }
  /// Ensures that the next `count` calls of `use` leave earlier references valid.
  void promise(std::size_t count);
  /// Returns the entry of a prefix that is used now, with count 0 if it is new. REQUIRES: promise(); the caller sets
  /// the entry before the next call.
  Entry& use(std::uint64_t print) {
    Entry& entry = place_of(print);
    if (entry.is_young()) return entry;
    ++young_;
    if (entry.count() == 0) return entry = Entry(print);
    --old_;
    entry.make_young();
    return entry;
  }
  /// Prefetches the memory that `use` will read for the first prints of a prompt.
  void prefetch(std::span<const std::uint64_t> prints) const {
    for (std::size_t i = 0; i < std::min(kAhead, prints.size()); ++i)
      canopy::prefetch(&places_[first_place(prints[i])]);
  }
  /// Prefetches the memory for a later print. Call it for each print.
  void prefetch_behind(std::span<const std::uint64_t> prints, std::size_t at) const {
    if (at + kAhead < prints.size()) canopy::prefetch(&places_[first_place(prints[at + kAhead])]);
  }

 private:
  static constexpr std::size_t kAhead = 32;
  std::size_t first_place(std::uint64_t print) const {
    return static_cast<std::size_t>((print * 0x9E3779B97F4A7C15U) >> shift_);
  }
  /// Returns the print's place, or the free place for it.
  Entry& place_of(std::uint64_t print) {
    std::size_t at = first_place(print);
    while (places_[at].count() != 0 && places_[at].print() != print) at = (at + 1) & (places_.size() - 1);
    return places_[at];
  }
  void forget_old();
  void grow(std::size_t size);

  // Open addressing with linear probing, at most half full.
  static constexpr int kLeastBits = 10;
  std::vector<Entry> places_ = std::vector<Entry>(std::size_t{1} << kLeastBits);  ///< size is a power of two
  int shift_ = 64 - kLeastBits;
  std::size_t young_ = 0, old_ = 0;  ///< prefixes
  std::size_t limit_ = 65536;
};

}  // namespace canopy::hazard
