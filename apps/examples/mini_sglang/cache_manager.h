#pragma once

#include <canopy/slot_allocator.h>

#include <memory>
#include <span>
#include <vector>

#include "prefix_cache.h"

namespace canopy::examples {

/// A running request: its tokens, its locked prefix, and its row of the page table.
struct Running {
  std::vector<Token> ids;
  Handle handle;
  std::vector<Slot> row;  ///< a slot for each token, up to the end of the last page
};

/// The scheduler's side of mini-sglang's cache: free pages, and the slots of requests. It is the only caller of
/// PrefixCache, and the only code that frees slots.
class CacheManager {
 public:
  /// Creates a pool of `pages` pages, numbered from 1.
  CacheManager(const Registry& registry, std::string_view index, std::uint32_t pages, Units page_size);

  /// Returns free pages, which the caller then owns. Evicts exactly the missing number of pages. Throws CacheError if
  /// that is not enough, and changes nothing.
  std::vector<Page> allocate(std::size_t count);
  /// Locks the cached part of the prompt, without its last token, and allocates slots for the rest. Throws CacheError
  /// if there are too few slots, and locks nothing.
  Running begin(std::vector<Token> ids);
  /// Inserts all tokens that the request has computed. If another request inserted the same tokens first, this
  /// request's slots are freed, and its row then names the cache's slots. A finished request keeps nothing; an
  /// unfinished one continues under the longer prefix.
  void cache(Running& request, bool finished);

  /// Throws CacheError if a page is missing. REQUIRES: no request is running, and the caller owns no page.
  void check_integrity() const;
  std::uint64_t free_pages() const { return allocator_->occupancy().free; }
  PrefixCache& prefixes() { return cache_; }

 private:
  void free(std::span<const Slot> slots);

  PrefixCache cache_;
  std::shared_ptr<SlotAllocator> allocator_;
};

}  // namespace canopy::examples
