#pragma once

#include <canopy/engine/engine.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace canopy::check {

/// Computes how much of a prompt is resident by a walk over the whole index. It is slow, and shares no code with the
/// index's own match, which it checks.
class Residence {
 public:
  /// Only stores the engine. `flips`: bits in which its words differ from the tokens. REQUIRES: `engine` outlives this
  /// object.
  Residence(Engine& engine, std::uint32_t flips) : engine_(engine), flips_(flips) {}
  /// Returns the tokens before the deepest boundary that every group can serve.
  std::uint32_t of(std::span<const Token> tokens, NamespaceId space);

 private:
  struct Walk;
  struct Boundary {
    std::array<bool, kMaxGroups> resident{};
  };
  Engine& engine_;
  std::uint32_t flips_;
  std::vector<Boundary> boundaries_;  ///< by page
  std::vector<NodeId> agrees_;        ///< by slot: nodes that agree with the words to their end
};

}  // namespace canopy::check
