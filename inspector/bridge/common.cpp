#include <bridge/common.h>

#include <algorithm>
#include <bit>

namespace canopy::bridge {

void Common::count(std::uint16_t worker, std::uint64_t name, bool more) {
  blocks_[worker] += more ? 1U : ~std::uint64_t{0};
  if (name == 0) return;
  const std::uint64_t bit = std::uint64_t{1} << worker;
  Has& has = names_[name];
  // Only a publisher that invents hashes has two blocks with one name.
  const auto repeated =
      std::find_if(has.repeated.begin(), has.repeated.end(), [&](const auto& each) { return each.first == worker; });
  if (more && (has.workers & bit) != 0) {
    if (repeated == has.repeated.end()) has.repeated.push_back({worker, 1});
    else ++repeated->second;
    return;
  }
  if (!more && repeated != has.repeated.end()) {
    if (--repeated->second == 0) has.repeated.erase(repeated);
    return;
  }
  const std::uint64_t before = has.workers, after = before ^ bit, both = before & after;
  has.workers = after;
  // The worker shares the block if another one has it. If only one other has it, that one now shares it as well.
  if (both != 0) shared_[worker] += more ? 1U : ~std::uint64_t{0};
  if (std::popcount(both) == 1)
    shared_[static_cast<std::size_t>(std::countr_zero(both))] += more ? 1U : ~std::uint64_t{0};
  if (after == 0) names_.erase(name);
}

}  // namespace canopy::bridge
