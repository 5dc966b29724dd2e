#include <canopy/pool.h>

#include <algorithm>

namespace canopy {

Result<std::monostate> Pool::open() {
  if (parts_.capacity == kUnlimited) return std::monostate{};
  while (allocator().occupancy().capacity < parts_.capacity)
    if (!grow())
      return Error{"group '" + parts_.group + "': there is no memory for a pool of " + std::to_string(parts_.capacity) +
                   " pages, " + std::to_string(parts_.segment_pages) + " at a time; it ends at " +
                   std::to_string(allocator().occupancy().capacity)};
  return std::monostate{};
}

bool Pool::grow() {
  const std::uint64_t first = segments_.empty() ? 0 : std::uint64_t{segments_.back().first} + segments_.back().pages;
  // Page 0 is in the first segment and in no count.
  const std::uint64_t left = parts_.capacity == kUnlimited ? ~std::uint32_t{0} - first : parts_.capacity + 1 - first;
  const Segment segment{static_cast<Page>(first),
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, parts_.segment_pages))};
  if (segment.pages == 0) return false;
  auto* holders = static_cast<std::uint64_t*>(std::calloc(parts_.segment_pages, sizeof(std::uint64_t)));
  if (!holders) return false;
  holders_.emplace_back(holders);
  if (parts_.store && !parts_.store->back(segment)) {
    holders_.pop_back();
    return false;
  }
  parts_.allocator->offer(segment);
  segments_.push_back(segment);
  return true;
}

std::uint64_t Pool::shortfall(std::uint64_t count) {
  const auto missing = [&] {
    const std::uint64_t free = allocator().occupancy().free;
    return count > free ? count - free : 0;
  };
  if (parts_.capacity == kUnlimited)
    while (missing() > 0 && grow()) {
    }
  return missing();
}

bool Pool::allocate(std::span<Page> out, std::uint64_t holder) {
  if (!allocator().allocate(out)) return false;
  Page before = 0;
  for (const Page page : out) {
    holders_[page / parts_.segment_pages][page % parts_.segment_pages] = holder;
    handed_out_.runs += page != before + 1;
    before = page;
  }
  handed_out_.pages += out.size();
  return true;
}

EvictionStrategy* Pool::use_policy(std::shared_ptr<EvictionStrategy> policy) {
  parts_.eviction = std::move(policy);
  return parts_.eviction.get();
}

}  // namespace canopy
