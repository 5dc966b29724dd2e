#include <canopy/engine/ledger.h>

#include <fmt/format.h>

namespace canopy {

void Ledger::check(const Pool& pool, const PrefixIndex& index, std::size_t group, Units page_size, std::uint64_t owned,
                   std::uint64_t moving, const char* after) {
  ++checks_;
  const Occupancy occupancy = pool.occupancy();
  const Sizes sizes = index.sizes(group);
  const std::uint64_t evictable = sizes.evictable / page_size, protected_ = sizes.protected_ / page_size;
  const std::uint64_t sum = occupancy.free + evictable + protected_ + owned + moving;
  if (sum == occupancy.capacity && sizes.evictable % page_size == 0 && sizes.protected_ % page_size == 0) return;
  violated(fmt::format(
      "group '{}' after {}: free {} + evictable {} + protected {} + owned {}{} = {} pages, but the pool has {}: {} {}",
      pool.group(), after, occupancy.free, evictable, protected_, owned,
      moving > 0 ? fmt::format(" + moving {}", moving) : "", sum, occupancy.capacity,
      sum < occupancy.capacity ? occupancy.capacity - sum : sum - occupancy.capacity,
      sum < occupancy.capacity ? "have no owner" : "are counted twice"));
}

void Ledger::violated(std::string sentence) {
  constexpr std::size_t kKept = 8;
  ++violations_;
  if (upper_) upper_->violated(as_ + sentence);
  if (reports_.size() < kKept) reports_.push_back(std::move(sentence));
}

}  // namespace canopy
