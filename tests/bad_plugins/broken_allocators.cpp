#include "plain_allocator.h"

// Allocators that load well and then break the contract, each in one way.
namespace {

using canopy::Page;

class PageZero final : public Plain {
  Page first_page() const override { return 0; }
};

/// Hands out one page a second time once many are out.
class Twice final : public Plain {
 public:
  bool allocate(std::span<Page> out) override {
    if (!Plain::allocate(out)) return false;
    if (out_.size() > 60 && !out.empty()) out.back() = *out_.begin();
    return true;
  }
};

template <class T>
constexpr CanopyComponent allocator(const char* name) {
  return canopy::provide<canopy::SlotAllocator, T>(name, "breaks the contract, but for the plain one");
}

}  // namespace

CANOPY_PLUGIN("1.0.0", allocator<Plain>("plain"), allocator<PageZero>("page_zero"), allocator<Twice>("twice"));
