#pragma once

#include <canopy/slot_allocator.h>

#include <memory>

#include "guard/guard.h"

namespace canopy {

/// An allocator whose counts are possible ones. Pool checks the pages themselves.
class AllocatorGuard final : public SlotAllocator, public Guard {
  static_assert(std::string_view(kInterface) == "canopy.SlotAllocator/1", "hand on the new functions too");

 public:
  AllocatorGuard(std::shared_ptr<SlotAllocator> allocator, std::string component, Ledger& ledger)
      : Guard(std::move(component), ledger), allocator_(std::move(allocator)) {}

  bool allocate(std::span<Page> out) override {
    return ask("allocate", [&] { return allocator_->allocate(out); });
  }
  bool free(std::span<const Page> pages) override {
    return ask("free", [&] { return allocator_->free(pages); });
  }
  Occupancy occupancy() const override {
    Occupancy occupancy = look("occupancy", [&] { return allocator_->occupancy(); });
    if (occupancy.capacity != offered_ || occupancy.free > offered_) occupancy = possible(occupancy);
    return occupancy;
  }
  void offer(Segment segment) override {
    offered_ += counted(segment);
    ask("offer", [&] { allocator_->offer(segment); });
  }
  void withdraw(Segment segment) override {
    offered_ -= counted(segment);
    ask("withdraw", [&] { allocator_->withdraw(segment); });
  }
  SegmentUse use(Segment segment) const override {
    SegmentUse use = look("use", [&] { return allocator_->use(segment); });
    if (use.out > segment.pages) use = possible(segment, use);
    return use;
  }
  bool is_out(Page page) const override {
    return look("is_out", [&] { return allocator_->is_out(page); });
  }
  std::uint64_t longest_run() const override {
    return look("longest_run", [&] { return allocator_->longest_run(); });
  }

 private:
  static std::uint64_t counted(Segment segment) { return segment.pages - (segment.first == 0 && segment.pages > 0); }
  Occupancy possible(Occupancy said) const;
  SegmentUse possible(Segment segment, SegmentUse said) const;

  std::shared_ptr<SlotAllocator> allocator_;
  std::uint64_t offered_ = 0;  ///< pages offered and not withdrawn, page 0 not counted
};

}  // namespace canopy
