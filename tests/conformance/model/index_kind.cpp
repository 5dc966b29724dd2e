#include "index_kind.h"

#include <canopy/prefix_index.h>

#include <array>

#include "plugins.h"

namespace canopy::test {

IndexKind kind_of(const std::string& name, const std::string& options) {
  const auto policy = make<EvictionStrategy>("lru", {});
  const std::array groups{Group{"full", kWholePath, kUnlimited, policy.get()}};
  const auto index = make<PrefixIndex>(name, {1, 0, groups}, options);
  constexpr std::array<std::uint32_t, 2> kWords{1, 2};
  constexpr std::array<Page, 2> kPages{1, 2};
  const bool remembers = index->insert({}, {NamespaceId::shared, kWords}, {kPages}, {}).lock.length > 0;
  return {remembers, remembers && index->use().nodes == 1};
}

}  // namespace canopy::test
