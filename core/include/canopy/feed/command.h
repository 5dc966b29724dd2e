#pragma once

#include <cstddef>
#include <cstdint>

namespace canopy {

/// Conditions that end a run_until command. The engine checks them after each of its operations.
enum class Condition : std::uint32_t {
  evicted,   ///< pages of `group` were evicted
  missed,    ///< a request of namespace `amount` (kAnySpace: any) found fewer whole pages than it could reuse
  request,   ///< request number `amount`, or a later one, began
  hit_rate,  ///< fewer than `amount` of 1000 prompt tokens of the last 64 requests were found; all of these requests
             ///< began after the command
  free,      ///< fewer than `amount` pages of `group` are free
};
inline constexpr std::uint64_t kAnySpace = ~std::uint64_t{0};

/// A command from an inspector to an engine whose feed takes controls.
struct Command {
  enum class Kind : std::uint32_t { pause, go_on, step, evict, flush, policy, run_until, pin, unpin, resize };
  Kind kind{};
  std::uint32_t group = 0;
  std::uint64_t amount = 0;  ///< step: operations; evict: pages; flush: namespace; run_until: see Condition;
                             ///< pin, unpin: id of a node; resize: tokens, or kUnlimited
  char name[36] = {};        ///< policy: name of the policy
  Condition until{};         ///< run_until: condition that ends it
};
static_assert(sizeof(Command) == 56);

}  // namespace canopy
