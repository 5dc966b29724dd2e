#pragma once

#include <canopy/slot_allocator.h>

#include <memory>
#include <span>
#include <vector>

#include "prefix_cache.h"

namespace canopy::examples {

/// A request that runs: its tokens, the prefix it holds, and its row of the page table.
struct Running {
  std::vector<Token> ids;
  Handle handle;
  std::vector<Slot> row;  ///< a slot for each token, and to the end of the last page
};

/// The scheduler's side of mini-sglang's cache: free pages, and what becomes of a request's slots. The one caller of
/// PrefixCache, and the only one who frees.
class CacheManager {
 public:
  /// A pool of `pages` pages, which are numbered from 1.
  CacheManager(const Registry& registry, std::string_view index, std::uint32_t pages, Units page_size);

  /// Pages for somebody to own, evicting exactly what is missing; a CacheError, and nothing has changed, if even that
  /// is not enough.
  std::vector<Page> allocate(std::size_t count);
  /// Locks what is cached of the prompt, all but its last token at most, and gives the rest slots of its own.
  /// A CacheError, and nothing is held, if there are too few.
  Running begin(std::vector<Token> ids);
  /// Remembers what the request has computed, all of its tokens, for others. Slots of what another request had
  /// remembered first are freed, and the row names the cache's slots in their place. A request that is finished has
  /// nothing left afterwards; one that is not goes on under the longer prefix.
  void cache(Running& request, bool finished);

  /// REQUIRES: no request is running, and no allocated page is with somebody else.
  void check_integrity() const;
  std::uint64_t free_pages() const { return allocator_->occupancy().free; }
  PrefixCache& prefixes() { return cache_; }

 private:
  void free(std::span<const Slot> slots);

  PrefixCache cache_;
  std::shared_ptr<SlotAllocator> allocator_;
};

}  // namespace canopy::examples
