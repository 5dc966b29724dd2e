#pragma once

#include <optional>
#include <tuple>
#include <utility>

namespace canopy::inspector {

/// The inputs of what a panel has computed, such as the rows of a list: they are computed again when one has changed.
template <class... Kinds>
class Inputs {
 public:
  /// Returns true if an input differs from those of the call before, and at the first call.
  bool changed(Kinds... now) {
    std::tuple<Kinds...> inputs(std::move(now)...);
    if (inputs_ == inputs) return false;
    inputs_ = std::move(inputs);
    return true;
  }

 private:
  std::optional<std::tuple<Kinds...>> inputs_;
};

}  // namespace canopy::inspector
