#pragma once

#include <algorithm>

#include "queued_node.h"

namespace canopy::radix {

/// The part of a VictimQueue whose entries arrive in the order of the queue: a sorted ring from which any entry can be
/// erased. Append and erase are O(1) and touch adjacent memory. Erasing leaves a gap. Once a third of the ring is gaps,
/// each call of erase moves a few entries towards the end, so no single call compacts the whole ring. Only append can
/// be O(n), when the ring doubles.
///
/// A place in the ring is the low bits of a number that grows by one with each append, and QueuePlaces::kInRing.
class RankRing {
 public:
  explicit RankRing(QueuePlaces places) : places_(places) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const QueuedNode& front() const { return at(begin_); }  ///< REQUIRES: not empty
  /// Returns the entry that was appended last; its slot is kGap if it was erased. REQUIRES: not empty.
  const QueuedNode& last_entry() const { return at(end_ - 1); }

  /// Returns false, and nothing has changed, if the system has no memory. REQUIRES: empty, or `entry` is not below the
  /// last entry.
  bool append(const QueuedNode& entry) {
    if (end_ - begin_ == entries_.size() && !grow()) return false;
    put(end_++, entry);
    ++size_;
    return true;
  }
  /// REQUIRES: there is an entry at `place`.
  const QueuedNode& entry(std::uint32_t place) const { return at(place); }
  /// REQUIRES: there is an entry at `place`.
  void erase(std::uint32_t place) {
    at(place).slot = kGap;
    if (--size_ == 0) return forget();
    while (at(begin_).slot == kGap) {
      ++begin_;
      if (compacting_ && begin_ >= read_) {
        begin_ = std::max(begin_, write_);
        compacting_ = false;
      }
    }
    compact();
  }
  /// Empties the ring, but does not change the places of its entries.
  void forget() {
    begin_ = end_;
    size_ = 0;
    compacting_ = false;
  }
  void clear() {
    forget();
    entries_.clear();
  }

  /// Calls visit(entry) for each entry, in no particular order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::uint64_t i = begin_; i != end_; ++i)
      if (at(i).slot != kGap) visit(at(i));
  }
  std::size_t resident() const { return entries_.resident(); }

 private:
  static constexpr std::uint32_t kGap = ~std::uint32_t{0};  ///< the slot of an erased entry
  static constexpr std::size_t kLeastSize = 8;
  static constexpr int kStepsAtOnce = 4;  ///< steps of compacting in each call of erase

  QueuedNode& at(std::uint64_t i) { return entries_[i & (entries_.size() - 1)]; }
  const QueuedNode& at(std::uint64_t i) const { return entries_[i & (entries_.size() - 1)]; }
  void put(std::uint64_t i, const QueuedNode& entry) {
    at(i) = entry;
    places_(entry.slot) = static_cast<std::uint32_t>(i) | QueuePlaces::kInRing;
  }
  bool grow() {
    const std::size_t had = entries_.size(), size = std::max(had * 2, kLeastSize);
    if (!entries_.resize(size)) return false;
    for (std::uint64_t i = begin_; i != end_; ++i)
      if ((i & (size - 1)) != (i & (had - 1))) entries_[i & (size - 1)] = entries_[i & (had - 1)];
    return true;
  }
  /// Moves a few entries towards the end of the ring, the last ones first, if a third of the ring is gaps.
  void compact() {
    if (!compacting_) {
      if (end_ - begin_ < kLeastSize || (end_ - begin_ - size_) * 3 < end_ - begin_) return;
      read_ = write_ = end_;
      compacting_ = true;
    }
    for (int step = 0; compacting_ && step < kStepsAtOnce; ++step) {
      const QueuedNode entry = at(--read_);
      if (entry.slot != kGap && --write_ != read_) {
        put(write_, entry);
        at(read_).slot = kGap;
      }
      if (read_ > begin_) continue;
      begin_ = write_;
      compacting_ = false;
      while (at(begin_).slot == kGap) ++begin_;
    }
  }

  Column<QueuedNode> entries_;          ///< the size is a power of two
  std::uint64_t begin_ = 0, end_ = 0;   ///< numbers of the front, and of the next entry to be appended
  std::uint64_t size_ = 0;              ///< entries, without gaps
  std::uint64_t read_ = 0, write_ = 0;  ///< while compacting: places from read_ up to write_ are gaps
  bool compacting_ = false;
  QueuePlaces places_;
};

}  // namespace canopy::radix
