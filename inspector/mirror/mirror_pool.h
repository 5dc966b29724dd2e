#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "shared_blocks.h"

namespace canopy::inspector {

/// One pool: the sums that the mirror counts, and the latest totals of the feed.
struct MirrorPool {
  std::string name, policy;
  std::string policy_rule, policy_rank;  ///< PolicyText of the policy; may be empty (no description)
  Units reach = kWholePath;
  std::uint64_t pages = 0, limit = 0;  ///< page 0 is not counted; may be kUnlimited
  std::uint32_t segment_pages = 0;
  struct Sums {
    std::uint64_t free = 0, evictable = 0, protected_ = 0, owned = 0;  ///< pages
    friend bool operator==(const Sums&, const Sums&) = default;
  };
  Sums counted, reported;
  std::uint64_t waiting = 0;  ///< nodes that wait to be evicted
  /// Pool size reported by a caller that uses an index without an engine. Individual pages are unknown, so the outer
  /// `pages` stays 0 and the owned pages are the rest. `pages` here is 0 if nothing was reported.
  struct Callers {
    std::uint64_t pages = 0, free = 0;
  } callers;
  /// Segments by number; each begins with page number * segment_pages. Empty until one is reported.
  struct Segment {
    SegmentState state = SegmentState::absent;
    std::uint32_t offered = 0, draining = 0;  ///< pages from its first on; draining pages in use
  };
  std::vector<Segment> segments;
  /// Owner by page: 0 free, the slot of a node, or ~id of a request.
  SharedBlocks<std::int64_t, 2048> owner;
  SharedBlocks<Rank, 1024> rank;  ///< last reported, by slot; valid while the slot's node waits to be evicted

  /// Changes since an earlier commit, for a view of the pages that updates incrementally.
  struct Changes {
    static constexpr std::size_t kMost = 16384;
    struct Change {
      std::uint64_t commit = 0;
      canopy::Segment pages{};  ///< empty: the node in slot `first` is now protected or no longer protected
    };
    std::uint64_t since = 0;  ///< commit; all later changes are in `list`
    std::vector<Change> list;

    /// REQUIRES: `now` is the commit that is being applied.
    void add(canopy::Segment changed, std::uint64_t now) {
      if (list.size() == kMost) {
        since = list[kMost / 2 - 1].commit;
        list.erase(list.begin(), list.begin() + kMost / 2);
      }
      list.push_back({now, changed});
    }
    void forget(std::uint64_t now) { since = now, list.clear(); }
  } changes;

  std::uint64_t all_pages() const { return callers.pages != 0 ? callers.pages : pages; }
  /// Returns the pages in use that will not be handed out again.
  std::uint64_t draining() const {
    std::uint64_t out = 0;
    for (const Segment& segment : segments) out += segment.draining;
    return out;
  }
  /// Returns true if a page can be handed out or has an owner. Other pages may have no memory.
  bool has(std::size_t page) const {
    if (owner[page] != 0) return true;
    const std::size_t i = segment_pages ? page / segment_pages : segments.size();
    return i < segments.size() ? page - i * segment_pages < segments[i].offered : segments.empty() && page <= pages;
  }
  /// Returns one more than the highest page number in use.
  std::size_t end() const {
    std::size_t last = segments.size();
    while (last > 0 && segments[last - 1].state == SegmentState::absent) --last;
    if (last == 0) return pages == 0 ? 0 : static_cast<std::size_t>(pages) + 1;
    const std::size_t end = (last - 1) * segment_pages + segments[last - 1].offered;
    for (std::size_t page = std::min(owner.size(), last * segment_pages); page > end; --page)
      if (owner[page - 1] != 0) return page;
    return end;
  }
};

}  // namespace canopy::inspector
