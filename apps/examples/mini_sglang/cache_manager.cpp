#include "cache_manager.h"

#include <fmt/format.h>

#include <algorithm>

#include "components.h"

namespace canopy::examples {

CacheManager::CacheManager(const Registry& registry, std::string_view index, std::uint32_t pages, Units page_size)
    : cache_(registry, index, page_size), allocator_(make<SlotAllocator>(registry, "free_list", {})) {
  allocator_->offer({1, pages});
}

std::vector<Page> CacheManager::allocate(std::size_t count) {
  if (count > free_pages()) free(cache_.evict((count - free_pages()) * cache_.page_size()));
  std::vector<Page> pages(count);
  if (!allocator_->allocate(pages))
    throw CacheError(fmt::format("cannot allocate {} pages: only {} are free", count, free_pages()));
  return pages;
}

Running CacheManager::begin(std::vector<Token> ids) {
  // A model needs one token to continue from, so the last one is always computed.
  Handle handle = cache_.match_prefix(std::span(ids).first(ids.empty() ? 0 : ids.size() - 1));
  cache_.lock_handle(handle);
  std::vector<Slot> row = cache_.matched_slots(handle);
  try {
    const std::vector<Slot> own =
        cache_.slots_of(allocate((ids.size() - row.size() + cache_.page_size() - 1) / cache_.page_size()));
    row.insert(row.end(), own.begin(), own.end());
  } catch (const CacheError&) {
    cache_.lock_handle(handle, true);
    throw;
  }
  return {std::move(ids), std::move(handle), std::move(row)};
}

void CacheManager::cache(Running& request, bool finished) {
  InsertResult inserted = cache_.insert_prefix(request.ids, request.row);
  // Locks before the old handle is unlocked: the old prefix begins the new one, so neither can be evicted in between.
  cache_.lock_handle(inserted.handle);
  const std::size_t had = request.handle.cached_len(), kept = inserted.handle.cached_len();
  const std::vector<Slot> row(request.row);
  const std::vector<Slot> cached = cache_.matched_slots(inserted.handle);
  std::copy(cached.begin(), cached.end(), request.row.begin());
  // Tokens that another request inserted first: the row named pages of its own for them until the line above.
  if (inserted.cached_len > had) free(std::span(row).subspan(had, inserted.cached_len - had));

  cache_.lock_handle(request.handle, true);
  request.handle = std::move(inserted.handle);
  if (!finished) return;
  free(std::span(row).subspan(kept));
  cache_.lock_handle(request.handle, true);
  request.row.clear();
}

void CacheManager::check_integrity() const {
  cache_.check_integrity();
  const std::uint64_t cached = cache_.size_info().total() / cache_.page_size();
  const Occupancy pool = allocator_->occupancy();
  if (pool.free + cached != pool.capacity)
    throw CacheError(
        fmt::format("{} pages are free and {} are cached, but {} are missing", pool.free, cached,
                    static_cast<std::int64_t>(pool.capacity) - static_cast<std::int64_t>(pool.free + cached)));
}

void CacheManager::free(std::span<const Slot> slots) {
  if (!allocator_->free(cache_.pages_of(slots)))
    throw CacheError(fmt::format("cannot free {} slots: not all of them are in use", slots.size()));
}

}  // namespace canopy::examples
