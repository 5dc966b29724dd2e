#include "plain_allocator.h"

#include <cstdlib>
#include <stdexcept>

// Allocators whose answers cannot be, each in one way, once they have served for a while.
namespace {

using canopy::Occupancy;
using canopy::Page;
using canopy::Segment;

class Lying : public Plain {
 protected:
  bool lies() { return ++calls_ > 20; }

 private:
  int calls_ = 0;
};

/// Hands out page N instead of the last one of an allocation.
template <Page N>
struct Instead final : Lying {
  bool allocate(std::span<Page> out) override {
    if (!Plain::allocate(out)) return false;
    if (lies() && !out.empty()) out.back() = N;
    return true;
  }
};

struct TwiceInACall final : Lying {
  bool allocate(std::span<Page> out) override {
    if (!Plain::allocate(out)) return false;
    if (lies() && out.size() > 1) out.back() = out.front();
    return true;
  }
};

struct TwiceOverall final : Lying {
  bool allocate(std::span<Page> out) override {
    if (!Plain::allocate(out)) return false;
    if (lies() && !out.empty()) out.back() = *out_.begin();
    return true;
  }
};

struct FillsNothing final : Lying {
  bool allocate(std::span<Page> out) override { return lies() || Plain::allocate(out); }
};

struct Refuses final : Lying {
  bool free(std::span<const Page> pages) override { return !lies() && Plain::free(pages); }
};

struct Swallows final : Lying {
  bool free(std::span<const Page> pages) override { return lies() || Plain::free(pages); }
};

template <std::uint64_t Capacity, std::uint64_t Free>
struct Counts final : Lying {
  Occupancy occupancy() const override { return ++looks_ > 20 ? Occupancy{Capacity, Free} : Plain::occupancy(); }
  mutable int looks_ = 0;
};

struct OneMoreFree final : Lying {
  Occupancy occupancy() const override { return {Plain::occupancy().capacity, Plain::occupancy().free + 1}; }
};

struct Throws final : Lying {
  bool allocate(std::span<Page> out) override {
    if (lies()) throw std::runtime_error("its table of pages is full");
    return Plain::allocate(out);
  }
};

struct ThrowsInFree final : Lying {
  bool free(std::span<const Page> pages) override {
    if (lies()) throw 7;
    return Plain::free(pages);
  }
};

/// The second call fails, all others do what they must.
struct ThrowsInOffer final : Lying {
  void offer(Segment segment) override {
    if (++offers_ == 2) throw std::runtime_error("its table of segments is full");
    Plain::offer(segment);
  }
  int offers_ = 0;
};
struct ThrowsInWithdraw final : Lying {
  void withdraw(Segment segment) override {
    if (++withdrawals_ == 2) throw std::runtime_error("its table of segments is full");
    Plain::withdraw(segment);
  }
  int withdrawals_ = 0;
};

template <class T>
constexpr CanopyComponent allocator(const char* name) {
  return canopy::provide<canopy::SlotAllocator, T>(name, "lies, in one way");
}

constexpr std::uint64_t kMost = ~std::uint64_t{0};

}  // namespace

CANOPY_PLUGIN("1.0.0", allocator<Instead<0>>("gives_page_0"), allocator<Instead<0x7FFFFFFF>>("gives_page_far"),
              allocator<Instead<0xFFFFFFFF>>("gives_page_last"), allocator<TwiceInACall>("twice_in_a_call"),
              allocator<TwiceOverall>("twice_overall"), allocator<FillsNothing>("fills_nothing"),
              allocator<Refuses>("refuses_free"), allocator<Swallows>("swallows_free"),
              allocator<Counts<kMost, kMost>>("counts_most"), allocator<Counts<0, 0>>("counts_nothing"),
              allocator<Counts<100, 200>>("counts_more_free"), allocator<OneMoreFree>("counts_one_more"),
              allocator<Throws>("throws_in_allocate"), allocator<ThrowsInFree>("throws_in_free"),
              allocator<ThrowsInOffer>("throws_in_offer"), allocator<ThrowsInWithdraw>("throws_in_withdraw"));
