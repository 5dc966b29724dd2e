#include "any_strategy.h"

#include <stdexcept>

namespace {

class Throws : public canopy::EvictionStrategy {
 public:
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {0, node.last_access}; }
};
class ThrowsError final : public Throws {
 public:
  ThrowsError() { throw std::runtime_error("its ghost list does not fit"); }
};
class ThrowsInt final : public Throws {
 public:
  ThrowsInt() { throw 7; }
};

/// Breaks the promise to say why.
constexpr CanopyComponent silent() {
  CanopyComponent component = canopy::provide<canopy::EvictionStrategy, AnyStrategy>("silent", "says nothing");
  component.create = [](canopy::Options&, const void*, void (*)(void*, const char*), void*) noexcept -> void* {
    return nullptr;
  };
  return component;
}

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, ThrowsError>("throws_error", "a std::exception"),
              canopy::provide<canopy::EvictionStrategy, ThrowsInt>("throws_int", "something else"), silent());
