#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "shared_blocks.h"

namespace canopy::inspector {

/// Consecutive page numbers of a node or a request, beginning with its page at index `place`.
struct PageRun {
  std::uint32_t place = 0;
  Page first = 0;
  std::uint32_t count = 0;
  std::uint8_t group = 0;
};

/// Time of a node's creation or last use if that was before the mirror began.
inline constexpr std::uint64_t kTimeNotKnown = ~std::uint64_t{0};

/// Consecutive units of a node that were added and last used together.
struct NodePart {
  Units length = 0;
  std::uint64_t added_us = 0;   ///< engine's clock, or kTimeNotKnown
  std::uint64_t used_us = 0;    ///< last use, or added_us before the first; may be kTimeNotKnown
  std::uint64_t used_work = 0;  ///< Mirror::work at the last use
  bool same_times(const NodePart& other) const {
    return added_us == other.added_us && used_us == other.used_us && used_work == other.used_work;
  }
};

/// A node as reported by the feed. Slots are those of the index: slot_of(NodeId).
struct MirrorNode {
  std::uint64_t id = 0;                                                           ///< 0: no node in this slot
  std::uint32_t parent = 0, first_child = 0, last_child = 0, next = 0, prev = 0;  ///< slots; 0: none
  std::uint32_t children = 0;
  NamespaceId space{};
  Units begin = 0, length = 0;
  std::uint16_t resident = 0;  ///< bit g: group g has its pages
  std::uint16_t lost = 0;      ///< bit g: its pages of group g were evicted
  bool reported_late = false;  ///< true if it existed before the mirror: its earlier losses are unknown
  std::array<std::uint32_t, kMaxGroups> hold{};  ///< whole-path group: own locks + held children; else: locks over it
  std::uint32_t hits = 0, inserts = 0;           ///< as the index counts them
  std::uint32_t matches = 0;  ///< requests whose match covered it when they began, since the mirror began
  /// Returns how often it was hit. The index does not count the hits of an engine of its callers (SGLang, vLLM).
  std::uint32_t uses() const { return hits > matches ? hits : matches; }
  std::int32_t priority = 0;
  Tick created = 0, last_access = 0;
  std::uint64_t digest = 0;
  /// Digests of its pages: all of them, or only the first if the feed sends just that one (event::NodeDigests).
  std::vector<std::uint32_t> page_digests;
  /// Hashes of its path (mix_path) up to the end of its first page, and up to its own end. The lineage is the same
  /// whenever that page comes back. The path is the lineage if not all digests are known.
  std::uint64_t lineage = 0, path = 0;
  std::uint64_t added_at = 0;                              ///< commit number
  std::uint64_t added_us = 0, used_us = 0, used_work = 0;  ///< as in NodePart, of its first part
  /// Parts with other times than their neighbours, which joins brought together; empty: there is one.
  std::vector<NodePart> parts{};
  /// Units of its path that came from a storage, as far as reported; others are unknown.
  struct Brought {
    Units from = 0, until = 0;
  } brought{};
  std::vector<PageRun> pages;        ///< runs of all groups
  std::vector<std::uint32_t> words;  ///< only if the feed carries tokens

  Units end() const { return begin + length; }
  bool has(std::size_t group) const { return resident >> group & 1; }
  /// Calls visit(part) for each part, the first first.
  void each_part(auto&& visit) const {
    if (parts.empty()) visit(NodePart{length, added_us, used_us, used_work});
    for (const NodePart& part : parts) visit(part);
  }
  /// Adds the parts of a node that follows, before its length is added. O(parts of that node).
  void append_parts(const MirrorNode& below);
  /// Leaves only the parts behind the first `units`, and gives those before them to `upper`, a copy of this node. Call
  /// it before lengths change.
  void cut_parts(MirrorNode& upper, Units units);
  /// Returns how many of its own units came from a storage.
  Units from_storage() const {
    const Units first = brought.from > begin ? brought.from : begin,
                last = brought.until < end() ? brought.until : end();
    return last > first ? last - first : 0;
  }
};

/// Returns the hash of a path that continues by a page with this digest.
constexpr std::uint64_t mix_path(std::uint64_t path, std::uint32_t digest) {
  std::uint64_t hash = (path ^ digest) * 0x9E3779B97F4A7C15U;
  hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93U;
  return hash ^ hash >> 32;
}

/// Nodes by slot.
class NodeBlocks : public SharedBlocks<MirrorNode, 256> {
 public:
  /// Calls visit(slot) for every node.
  template <class Visit>
  void each(Visit&& visit) const {
    each_written([&](std::uint32_t slot) {
      if ((*this)[slot].id) visit(slot);
    });
  }
};

/// The state of a node in a group.
enum class NodeState : std::uint8_t {
  evictable,
  protected_,
  tombstone,  ///< its pages of this group were evicted
  without,    ///< it has no pages of this group and, as far as is known, never had any
};
inline constexpr std::size_t kNodeStates = 4;

}  // namespace canopy::inspector
