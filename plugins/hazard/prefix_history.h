#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lives.h"

namespace canopy::hazard {

/// Remembers which prefixes were used and how often, long after their nodes were evicted. Two generations: what is used
/// goes to the young one; when that has `limit` prefixes the old one is forgotten, and the young one is the old one
/// from then on. So nothing is ever erased, and at least the last `limit` prefixes are known.
class PrefixHistory {
 public:
  /// 16 bytes a prefix. An entry with count 0 is new.
  class Entry {
   public:
    Entry() = default;
    explicit Entry(std::uint64_t print) : print_(print) {}
    std::uint64_t print() const { return print_; }
    std::uint32_t count() const { return static_cast<std::uint32_t>(life_and_count_ & kMostCounted); }
    Lives::Id life() const { return life_and_count_ >> kCountBits; }
    /// REQUIRES: 0 < count <= kMostCounted.
    void set(std::uint32_t count, Lives::Id life) { life_and_count_ = life << kCountBits | count; }

   private:
    static constexpr int kCountBits = 3;
    static constexpr std::uint32_t kMostCounted = (1U << kCountBits) - 1;
    std::uint64_t print_ = 0, life_and_count_ = 0;
  };

  /// The prefixes of a generation at most.
  void limit(std::size_t prefixes) { limit_ = prefixes; }
  /// How many of `prints` are known before the first that is not.
  std::size_t known(std::span<const std::uint64_t> prints) const;
  /// From now on `count` calls of `use` leave earlier references valid.
  void promise(std::size_t count);
  /// The entry of a prefix that is used now; the caller sets it. REQUIRES: promise.
  Entry& use(std::uint64_t print);
  /// Asks for the memory that `use` will read a few prints behind prints[at].
  void prefetch_behind(std::span<const std::uint64_t> prints, std::size_t at) const;

 private:
  /// Open addressing with linear probing, at most half full.
  struct Generation {
    std::vector<Entry> places;  ///< as many as a power of two, or none
    std::size_t size = 0;

    const Entry* find(std::uint64_t print) const;
    Entry& place_of(std::uint64_t print);  ///< its own, or the free one. REQUIRES: a free one
    void reserve(std::size_t count);
    void clear();
    void prefetch(std::uint64_t print) const {
      if (!places.empty()) __builtin_prefetch(&places[first_place(print)]);
    }

   private:
    std::size_t first_place(std::uint64_t print) const;
  };

  Generation young_, old_;
  std::size_t limit_ = 65536;
};

}  // namespace canopy::hazard
