#pragma once

#include <canopy/prefix_index.h>
#include <canopy/loading/registry.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::examples {

/// Where the K and V of one token lie. Page p of n tokens is the slots p * n to p * n + n - 1; page 0 is never used.
using Slot = std::uint32_t;

/// Somebody asked for what the cache cannot do; one sentence says what.
class CacheError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A prefix that was found or inserted. While it is not locked it is a note, no more: what it names may be evicted.
/// Moved, never copied: a lock is let go once.
class Handle {
 public:
  Handle(Handle&&) = default;
  Handle& operator=(Handle&&) = default;

  /// Tokens, whole pages; 0 is the root.
  Units cached_len() const { return static_cast<Units>(ids_.size()); }
  bool is_locked() const { return lock_.has_value(); }

 private:
  friend class PrefixCache;
  explicit Handle(std::span<const Token> ids) : ids_(ids.begin(), ids.end()) {}

  std::vector<Token> ids_;
  std::optional<Lock> lock_;  ///< the index's receipt
};

struct InsertResult {
  Units cached_len;  ///< tokens that were in the cache before: the slots brought for them are the caller's again
  Handle handle;     ///< all that is cached now, not locked
};

struct SizeInfo {
  std::uint64_t evictable = 0, protected_ = 0;  ///< tokens
  std::uint64_t total() const { return evictable + protected_; }
};

/// mini-sglang's interface to its prefix cache, on a Canopy index. Over "radix" it is its radix cache; over "null"
/// it is the naive one that remembers nothing: the same class, another name in the configuration.
///
/// It frees nothing: slots that it stops needing are in a result. One thread.
///
/// What is a call of the index here: match_prefix is peek, which changes nothing; lock_handle is match, which finds
/// and holds in one step. An engine of one's own would go straight to match, and insert below the lock it has; this
/// class compares the prefix again, because the interface it shows keeps looking, locking and inserting apart.
class PrefixCache {
 public:
  /// A CacheError says why `index` cannot be had.
  PrefixCache(const Registry& registry, std::string_view index, Units page_size);

  /// The longest prefix of whole pages that is cached.
  Handle match_prefix(std::span<const Token> ids) const;
  /// A locked prefix is not evicted. Locks count: each handle that was locked is unlocked once.
  /// A CacheError if the handle is locked (not locked) already, or if its prefix was evicted meanwhile.
  void lock_handle(Handle& handle, bool unlock = false);
  /// A slot for each token of the handle; a copy. A CacheError if the handle is not locked.
  std::vector<Slot> matched_slots(const Handle& handle);
  /// Remembers the whole pages of `ids`, whose K and V lie in `slots`; a tail shorter than a page is left alone.
  /// The cache owns the slots from cached_len to the handle's length from now on, and keeps no view of the caller's.
  /// A CacheError, and nothing has changed, if there are fewer slots than tokens, or they do not lie in whole pages.
  InsertResult insert_prefix(std::span<const Token> ids, std::span<const Slot> slots);
  /// At least `size` tokens' slots, least recently used first, whole nodes at a time; they are the caller's now.
  /// A CacheError, and nothing has changed, if `size` is more than can be evicted.
  std::vector<Slot> evict(std::uint64_t size);
  /// Forgets everything; the slots are the caller's. A CacheError, and nothing has changed, while a handle is locked.
  std::vector<Slot> reset();

  SizeInfo size_info() const;
  /// Walks over everything: a CacheError if a page is there twice, or if the sizes are not those of the nodes.
  void check_integrity() const;

  Units page_size() const { return page_size_; }
  std::vector<Slot> slots_of(std::span<const Page> pages) const;
  /// A CacheError unless the slots are whole pages.
  std::vector<Page> pages_of(std::span<const Slot> slots) const;

 private:
  std::span<const Token> whole_pages(std::span<const Token> ids) const {
    return ids.first(ids.size() / page_size_ * page_size_);
  }

  Units page_size_;
  std::shared_ptr<EvictionStrategy> policy_;  ///< outlives the index
  std::shared_ptr<PrefixIndex> index_;
};

}  // namespace canopy::examples
