#pragma once

#include <canopy/prefetch.h>
#include <canopy/routing/huge_allocator.h>
#include <canopy/support/random.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace canopy::routing {

/// A hash table by a 64-bit key in one array, so that a look-up is one line of memory, which can be asked for ahead.
/// Entry has a member `key`; 0 is none. Linear probing, at most half full; erasing moves later entries up, so there are
/// no marks of what was. Where an entry lies depends on a secret, since keys come from other processes: a process that
/// knows the hash cannot make look-ups slow. An entry's address holds until the next insert or erase.
template <class Entry>
class FlatTable {
 public:
  /// Room for so many entries without growing.
  FlatTable(std::uint64_t secret, std::size_t expected) : secret_(secret), entries_(room_for(expected)) {}

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

  /// Asks for the memory that a look-up will read: a quarter of them go beyond their first line.
  void prefetch(std::uint64_t key) const {
    constexpr std::size_t kHalfLine = sizeof(Entry) < 32 ? 32 / sizeof(Entry) : 1;
    const std::size_t at = place_of(key);
    canopy::prefetch(&entries_[at]);
    canopy::prefetch(&entries_[(at + kHalfLine) & (entries_.size() - 1)]);
  }
  /// Null: there is none. REQUIRES: not 0.
  const Entry* find(std::uint64_t key) const {
    for (std::size_t at = place_of(key);; at = next(at)) {
      if (entries_[at].key == key) return &entries_[at];
      if (entries_[at].key == 0) return nullptr;
    }
  }
  Entry* find(std::uint64_t key) { return const_cast<Entry*>(std::as_const(*this).find(key)); }
  /// The entry of the key, with nothing but the key if it is new. REQUIRES: not 0.
  Entry& operator[](std::uint64_t key) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    std::size_t at = place_of(key);
    while (entries_[at].key != key && entries_[at].key != 0) at = next(at);
    if (entries_[at].key == 0) {
      entries_[at].key = key;
      ++size_;
    }
    return entries_[at];
  }
  /// REQUIRES: an entry of this table.
  void erase(Entry* entry) {
    auto hole = static_cast<std::size_t>(entry - entries_.data());
    for (std::size_t at = next(hole); entries_[at].key != 0; at = next(at)) {
      // It may move up unless its own place lies behind the hole.
      const std::size_t place = place_of(entries_[at].key);
      if (((at - place) & (entries_.size() - 1)) < ((at - hole) & (entries_.size() - 1))) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
    --size_;
  }
  /// visit(entry) of each, in no particular order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Entry& entry : entries_)
      if (entry.key != 0) visit(entry);
  }
  /// Keeps its memory.
  void clear() {
    entries_.assign(entries_.size(), {});
    size_ = 0;
  }

 private:
  static constexpr std::size_t kLeast = 64;
  static std::size_t room_for(std::size_t entries) { return std::bit_ceil(2 * entries + kLeast); }
  std::size_t place_of(std::uint64_t key) const { return splitmix64(key ^ secret_) & (entries_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (entries_.size() - 1); }
  void grow() {
    FlatTable larger(secret_, entries_.size());
    each([&](const Entry& entry) { larger[entry.key] = entry; });
    *this = std::move(larger);
  }

  std::uint64_t secret_;
  std::vector<Entry, HugeAllocator<Entry>> entries_;
  std::size_t size_ = 0;
};

}  // namespace canopy::routing
