#pragma once

#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace canopy::inspector {

/// One pool, counted by the mirror itself; `told` are the totals that came last.
struct MirrorPool {
  std::string name, policy;
  std::string policy_rule, policy_rank;  ///< PolicyText of the policy; empty if it says nothing
  Units reach = kWholePath;
  std::uint64_t pages = 0, limit = 0;  ///< page 0 not counted; kUnlimited
  std::uint32_t segment_pages = 0;
  struct Sums {
    std::uint64_t free = 0, evictable = 0, protected_ = 0, owned = 0;  ///< pages
    friend bool operator==(const Sums&, const Sums&) = default;
  };
  Sums counted, told;
  std::uint64_t waiting = 0;  ///< nodes that wait to be evicted
  /// Of an index without an engine: the pool that its pages are from, as its caller says. No page of it is told, so
  /// that `pages` stays 0 and what is owned is the rest. `pages` here of 0: nothing was said.
  struct Callers {
    std::uint64_t pages = 0, free = 0;
  } callers;
  /// What the tier below has of this group, as it was told last; a limit of 0: there is no such tier.
  struct Below {
    std::uint64_t resident = 0, moving = 0, limit = 0;  ///< pages
  } below;
  /// By number: the pages from number * segment_pages on. Empty while none was told of.
  struct Segment {
    SegmentState state = SegmentState::absent;
    std::uint32_t offered = 0, draining = 0;  ///< pages from its first on; draining pages that are out
  };
  std::vector<Segment> segments;
  /// By page: 0 free, the slot of a node, or ~id of a request.
  std::vector<std::int64_t> owner;

  /// What a picture of the pages, made at an earlier commit, has to look at again.
  struct Changes {
    static constexpr std::size_t kMost = 16384;
    struct Change {
      std::uint64_t commit = 0;
      canopy::Segment pages{};  ///< without a page: the node in the slot `first` is protected now, or no longer
    };
    std::uint64_t since = 0;  ///< commit: it has all changes that came later
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
  /// Pages that are out and will not be handed out again.
  std::uint64_t draining() const {
    std::uint64_t out = 0;
    for (const Segment& segment : segments) out += segment.draining;
    return out;
  }
  /// Whether a page can be handed out or has an owner; if not there may be no memory behind it.
  bool has(std::size_t page) const {
    if (page < owner.size() && owner[page] != 0) return true;
    const std::size_t i = segment_pages ? page / segment_pages : segments.size();
    return i < segments.size() ? page - i * segment_pages < segments[i].offered : segments.empty() && page <= pages;
  }
  /// One more than the highest page number that is in use.
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
