#include <canopy/engine/ledger.h>

#include <fmt/format.h>

namespace canopy {

void Ledger::check(const std::string& group, const Occupancy& pool, const Sizes& index, Units page_size,
                   std::uint64_t owned, std::uint64_t moving, const char* after) {
  ++checks_;
  const std::uint64_t evictable = index.evictable / page_size, protected_ = index.protected_ / page_size;
  const std::uint64_t sum = pool.free + evictable + protected_ + owned + moving;
  if (sum == pool.capacity && index.evictable % page_size == 0 && index.protected_ % page_size == 0) return;
  violated(fmt::format(
      "group '{}' after {}: free {} + evictable {} + protected {} + owned {}{} = {} pages, but the pool has {}: {} {}",
      group, after, pool.free, evictable, protected_, owned, moving > 0 ? fmt::format(" + moving {}", moving) : "", sum,
      pool.capacity, sum < pool.capacity ? pool.capacity - sum : sum - pool.capacity,
      sum < pool.capacity ? "have no owner" : "are counted twice"));
}

void Ledger::violated(std::string sentence) {
  constexpr std::size_t kKept = 8;
  ++violations_;
  if (upper_) upper_->violated(as_ + sentence);
  if (reports_.size() < kKept) reports_.push_back(std::move(sentence));
}

}  // namespace canopy
