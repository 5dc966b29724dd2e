#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace canopy {

/// Min-queue of nodes by rank, with removal of any of them. For index authors; a policy never sees it. Equal ranks
/// leave by `order`, which the index chooses, then by slot number.
///
/// Two parts that together are one queue: who comes with a rank not below all before stands in a line, as all do when
/// ranks are times; whoever does not is in a 4-ary heap. In the line nobody moves when somebody leaves, so that push,
/// erase and pop touch what is next to each other, whatever the size; in the heap they are O(log n). Gaps in the line
/// are closed a few steps at a time, so that no call but push waits for the whole line, and that only when it doubles.
///
/// `Places` maps a slot to a std::uint32_t& that this queue alone writes: kNowhere, or where the slot stands.
template <class Places, template <class...> class Array = std::vector>
class VictimQueue {
 public:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  static constexpr std::size_t kWidth = 4;  ///< who comes after the first of the heap is one of the next four entries
  struct Entry {
    Rank rank;
    std::uint32_t order, slot;
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.rank != b.rank) return a.rank < b.rank;
      return a.order != b.order ? a.order < b.order : a.slot < b.slot;
    }
  };

  explicit VictimQueue(Places places) : places_(std::move(places)) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return heap_.size() + lined_; }
  const Entry& front() const {
    if (lined_ == 0) return heap_[0];
    const Entry& first = line(begin_);
    return heap_.size() > 0 && heap_[0] < first ? heap_[0] : first;
  }
  /// visit(entry) of everybody, in no particular order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::uint64_t at = begin_; at != end_; ++at)
      if (line(at).slot != kNobody) visit(line(at));
    for (std::size_t i = 0; i < heap_.size(); ++i) visit(heap_[i]);
  }
  /// visit(slot) of some of whom the next will be after the first, to ask for their memory.
  template <class Visit>
  void each_soon(Visit&& visit) const {
    for (std::uint64_t at = begin_ + 1; at < std::min(begin_ + 1 + kWidth, end_); ++at)
      if (line(at).slot != kNobody) visit(line(at).slot);
    for (std::size_t i = 1; i < std::min(heap_.size(), kWidth + 1); ++i) visit(heap_[i].slot);
  }
  std::size_t resident() const { return heap_.resident() + line_.resident(); }

  /// REQUIRES: `slot` is not in the queue.
  void push(std::uint32_t slot, Rank rank, std::uint32_t order = 0) {
    const Entry entry{rank, order, slot};
    if (lined_ == 0 || !(entry < line(end_ - 1))) return line_up(entry);
    heap_.push_back(entry);
    rise(heap_.size() - 1, entry);
  }
  /// REQUIRES: `slot` is in the queue.
  void erase(std::uint32_t slot) {
    const std::uint32_t place = std::exchange(places_(slot), kNowhere);
    if (place & kInLine) return leave_line(place);
    const std::size_t hole = place;
    const Entry last = heap_[heap_.size() - 1];
    heap_.pop_back();
    if (hole == heap_.size()) return;
    if (hole > 0 && last < heap_[(hole - 1) / kWidth]) rise(hole, last);
    else sink(hole, last);
  }
  /// REQUIRES: `slot` is in the queue.
  void update(std::uint32_t slot, Rank rank, std::uint32_t order = 0) {
    const std::uint32_t at = places_(slot);
    if (at & kInLine) {
      erase(slot);
      return push(slot, rank, order);
    }
    const Entry entry{rank, order, slot};
    if (entry < heap_[at]) rise(at, entry);
    else sink(at, entry);
  }
  /// Ranks everybody anew, in O(n).
  template <class RankOf>
  void rerank(RankOf&& rank_of) {
    for (std::uint64_t at = begin_; at != end_; ++at)
      if (line(at).slot != kNobody) heap_.push_back(line(at));
    forget_line();
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      heap_[i].rank = rank_of(heap_[i].slot);
      places_(heap_[i].slot) = static_cast<std::uint32_t>(i);
    }
    if (heap_.size() > 1)
      for (std::size_t i = (heap_.size() - 2) / kWidth + 1; i-- > 0;) sink(i, heap_[i]);
  }
  void clear() {
    each([&](const Entry& entry) { places_(entry.slot) = kNowhere; });
    heap_.clear();
    forget_line();
    line_.clear();
  }

 private:
  // Places: a heap's index, or kInLine and the low bits of a number that only grows along the line.
  static constexpr std::uint32_t kInLine = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};  ///< the slot of a gap in the line
  static constexpr std::size_t kLeastLine = 8;
  static constexpr int kSweepSteps = 4;  ///< of closing gaps, in each call that makes one

  Entry& line(std::uint64_t at) { return line_[at & (line_.size() - 1)]; }
  const Entry& line(std::uint64_t at) const { return line_[at & (line_.size() - 1)]; }
  void put_in_line(std::uint64_t at, const Entry& entry) {
    line(at) = entry;
    places_(entry.slot) = static_cast<std::uint32_t>(at) | kInLine;
  }
  void line_up(const Entry& entry) {
    if (end_ - begin_ == line_.size()) lengthen_line();
    put_in_line(end_++, entry);
    ++lined_;
  }
  void lengthen_line() {
    const std::size_t had = line_.size(), size = std::max(had * 2, kLeastLine);
    while (line_.size() < size) line_.push_back(Entry{});
    for (std::uint64_t at = begin_; at != end_; ++at)
      if ((at & (size - 1)) != (at & (had - 1))) line_[at & (size - 1)] = line_[at & (had - 1)];
  }
  void leave_line(std::uint32_t place) {
    line(place).slot = kNobody;
    if (--lined_ == 0) return forget_line();
    while (line(begin_).slot == kNobody) {
      ++begin_;
      if (sweeping_ && begin_ >= read_) {
        begin_ = std::max(begin_, write_);
        sweeping_ = false;
      }
    }
    sweep();
  }
  void forget_line() {
    begin_ = end_;
    lined_ = 0;
    sweeping_ = false;
  }
  /// Moves entries towards the end of the line, the last ones first, when a third of it is gaps.
  void sweep() {
    if (!sweeping_) {
      if (end_ - begin_ < kLeastLine || (end_ - begin_ - lined_) * 3 < end_ - begin_) return;
      read_ = write_ = end_;
      sweeping_ = true;
    }
    for (int step = 0; sweeping_ && step < kSweepSteps; ++step) {
      const Entry entry = line(--read_);
      if (entry.slot != kNobody && --write_ != read_) {
        put_in_line(write_, entry);
        line(read_).slot = kNobody;
      }
      if (read_ > begin_) continue;
      begin_ = write_;
      sweeping_ = false;
      while (line(begin_).slot == kNobody) ++begin_;
    }
  }

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    places_(entry.slot) = static_cast<std::uint32_t>(at);
  }
  void rise(std::size_t at, Entry entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kWidth;
      if (!(entry < heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sink(std::size_t at, Entry entry) {
    for (;;) {
      const std::size_t first = at * kWidth + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      const std::size_t end = std::min(first + kWidth, heap_.size());
      for (std::size_t child = first + 1; child < end; ++child)
        if (heap_[child] < heap_[least]) least = child;
      if (!(heap_[least] < entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  Array<Entry> heap_, line_;                       ///< the line is a ring, its size a power of two
  std::uint64_t begin_ = 0, end_ = 0, lined_ = 0;  ///< of the line; at begin_ stands somebody
  std::uint64_t read_ = 0, write_ = 0;             ///< between them, while it is swept, are gaps
  bool sweeping_ = false;
  Places places_;
};

}  // namespace canopy
