#pragma once

#include <canopy/base/registry.h>
#include <canopy/prefix_index.h>

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

/// Position of the K and V of one token. Page p of n tokens has the slots p * n to p * n + n - 1; page 0 is never used.
using Slot = std::uint32_t;

/// Thrown if the cache cannot do what was requested. The error message gives the reason.
class CacheError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A prefix that was found or inserted. While it is not locked, its pages may be evicted. It can be moved but not
/// copied, so that a lock is released once.
class Handle {
 public:
  Handle(Handle&&) = default;
  Handle& operator=(Handle&&) = default;

  /// Returns the tokens of the prefix, whole pages; 0 is the root.
  Units cached_len() const { return static_cast<Units>(ids_.size()); }
  bool is_locked() const { return lock_.has_value(); }

 private:
  friend class PrefixCache;
  explicit Handle(std::span<const Token> ids) : ids_(ids.begin(), ids.end()) {}

  std::vector<Token> ids_;
  std::optional<Lock> lock_;  ///< lock of the index
};

struct InsertResult {
  Units cached_len;  ///< tokens that were already in the cache: the caller owns the slots that it brought for them
  Handle handle;     ///< everything that is cached now, not locked
};

struct SizeInfo {
  std::uint64_t evictable = 0, protected_ = 0;  ///< tokens
  std::uint64_t total() const { return evictable + protected_; }
};

/// mini-sglang's interface to its prefix cache, on a Canopy index. With "radix" it is the radix cache; with "null" it
/// is the naive cache that keeps nothing. Only the name in the configuration differs.
///
/// It frees nothing: slots that the cache gives up are returned. Not thread-safe.
///
/// match_prefix calls peek() of the index, which changes nothing. lock_handle calls match(), which finds and locks in
/// one step. An engine of your own would call match() at once and insert below its lock. This class compares the prefix
/// again, because mini-sglang's interface has separate calls to match, lock and insert.
class PrefixCache {
 public:
  /// Creates a cache. Throws CacheError, with the reason, if `index` cannot be made.
  PrefixCache(const Registry& registry, std::string_view index, Units page_size);

  /// Returns the longest cached prefix of whole pages.
  Handle match_prefix(std::span<const Token> ids) const;
  /// Locks or unlocks a prefix. A locked prefix is not evicted. Locks are counted: each handle that was locked must be
  /// unlocked once. Throws CacheError if the handle is already locked (or not locked), or if its prefix was evicted
  /// meanwhile.
  void lock_handle(Handle& handle, bool unlock = false);
  /// Returns a slot for each token of the handle, as a copy. Throws CacheError if the handle is not locked.
  std::vector<Slot> matched_slots(const Handle& handle);
  /// Inserts the whole pages of `ids`, whose K and V lie in `slots`, without a tail shorter than a page. The cache then
  /// owns the slots from cached_len to the handle's length, and keeps no reference to the caller's memory. Throws
  /// CacheError, and changes nothing, if there are fewer slots than tokens, or they do not lie in whole pages.
  InsertResult insert_prefix(std::span<const Token> ids, std::span<const Slot> slots);
  /// Evicts at least `size` tokens, least recently used first, whole nodes at a time, and returns their slots, which
  /// the caller then owns. Throws CacheError, and changes nothing, if `size` is more than can be evicted.
  std::vector<Slot> evict(std::uint64_t size);
  /// Removes everything and returns the slots, which the caller then owns. Throws CacheError, and changes nothing,
  /// while a handle is locked.
  std::vector<Slot> reset();

  SizeInfo size_info() const;
  /// Visits every node. Throws CacheError if a page is there twice, or if the sizes differ from the nodes' sum.
  void check_integrity() const;

  Units page_size() const { return page_size_; }
  std::vector<Slot> slots_of(std::span<const Page> pages) const;
  /// Returns the pages of the slots. Throws CacheError unless the slots are whole pages.
  std::vector<Page> pages_of(std::span<const Slot> slots) const;

 private:
  std::span<const Token> whole_pages(std::span<const Token> ids) const {
    return ids.first(ids.size() / page_size_ * page_size_);
  }

  Units page_size_;
  std::shared_ptr<EvictionStrategy> policy_;  ///< must outlive the index
  std::shared_ptr<PrefixIndex> index_;
};

}  // namespace canopy::examples
