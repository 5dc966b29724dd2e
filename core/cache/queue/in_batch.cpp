#include "in_batch.h"

#include <algorithm>
#include <unordered_set>

namespace canopy::scheduling {
namespace {

/// The first tokens of a request.
struct Beginning {
  NamespaceId space;
  std::span<const Token> tokens;

  bool operator==(const Beginning& other) const {
    return space == other.space && std::ranges::equal(tokens, other.tokens);
  }
};

struct HashOfBeginning {
  std::size_t operator()(const Beginning& beginning) const {
    std::uint64_t hash = static_cast<std::uint64_t>(beginning.space);
    for (const Token token : beginning.tokens) {
      hash = (hash ^ static_cast<std::uint64_t>(token)) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace

std::vector<bool> deferred(std::span<const Waiter> waiting, const Rules& rules) {
  std::vector<bool> last(waiting.size());
  if (rules.unknown < 0) return last;
  std::unordered_set<Beginning, HashOfBeginning> begun(waiting.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Waiter& waiter = waiting[i];
    if (waiter.found > rules.unknown || waiter.tokens.size() < rules.shared) continue;
    last[i] = !begun.insert({waiter.space, waiter.tokens.first(rules.shared)}).second;
  }
  return last;
}

}  // namespace canopy::scheduling
