#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace canopy::inspector {

/// Consecutive page numbers of a node or a request, from its page number `place` on.
struct PageRun {
  std::uint32_t place = 0;
  Page first = 0;
  std::uint32_t count = 0;
  std::uint8_t group = 0;
};

/// When a node was there or was used last, if it was before the mirror.
inline constexpr std::uint64_t kTimeNotKnown = ~std::uint64_t{0};

/// A node as the feed told it. Slots are those of the index: slot_of(NodeId).
struct MirrorNode {
  std::uint64_t id = 0;                                                           ///< 0: no node in this slot
  std::uint32_t parent = 0, first_child = 0, last_child = 0, next = 0, prev = 0;  ///< slots; 0 none
  std::uint32_t children = 0;
  NamespaceId space{};
  Units begin = 0, length = 0;
  std::uint16_t resident = 0;                    ///< bit g: group g has its pages
  std::uint16_t lost = 0;                        ///< bit g: it had pages of group g, and they were evicted
  bool told_late = false;                        ///< it was there before the mirror: what it lost before is not known
  std::array<std::uint32_t, kMaxGroups> hold{};  ///< whole path: own locks + held children; else: locks over it
  std::array<Rank, kMaxGroups> rank{};           ///< as last told; valid while the node waits
  std::uint32_t hits = 0, inserts = 0;
  std::int32_t priority = 0;
  Tick created = 0, last_access = 0;
  std::uint64_t digest = 0;
  std::uint64_t lineage = 0;    ///< id of the first node known here: one that came back has that of its ghost
  std::uint64_t added_at = 0;   ///< commit
  std::uint64_t added_us = 0;   ///< of the engine's clock; kTimeNotKnown
  std::uint64_t used_us = 0;    ///< of its last use, or added_us before the first; kTimeNotKnown
  std::uint64_t used_work = 0;  ///< tokens of prompts that had come by then, since the mirror began
  /// Of its path, units that have come from a storage, as far as it was told; what is beside them is not known.
  struct Brought {
    Units from = 0, until = 0;
  } brought{};
  std::vector<PageRun> pages;        ///< of all groups
  std::vector<std::uint32_t> words;  ///< only if the feed carries tokens

  Units end() const { return begin + length; }
  bool has(std::size_t group) const { return resident >> group & 1; }
  /// How many of its own units have come from a storage.
  Units from_storage() const {
    const Units first = brought.from > begin ? brought.from : begin,
                last = brought.until < end() ? brought.until : end();
    return last > first ? last - first : 0;
  }
};

/// Nodes by slot, in blocks that are made when they are first written: slots may be few and far apart. Copies share
/// blocks until one of them writes.
class NodeBlocks {
 public:
  MirrorNode& operator[](std::uint32_t slot) {
    if (blocks_.size() <= slot / kBlock) blocks_.resize(slot / kBlock + 1);
    auto& block = blocks_[slot / kBlock];
    if (!block) block = std::make_shared<Block>();
    else if (block.use_count() > 1) block = std::make_shared<Block>(*block);
    return (*block)[slot % kBlock];
  }
  const MirrorNode& operator[](std::uint32_t slot) const {
    static const MirrorNode kNoNode{};
    return slot / kBlock < blocks_.size() && blocks_[slot / kBlock] ? (*blocks_[slot / kBlock])[slot % kBlock]
                                                                    : kNoNode;
  }
  std::size_t size() const { return blocks_.size() * kBlock; }  ///< every slot is below
  void clear() { blocks_.clear(); }
  /// visit(slot) of every node there is.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (std::size_t i = 0; blocks_[b] && i < kBlock; ++i)
        if ((*blocks_[b])[i].id) visit(static_cast<std::uint32_t>(b * kBlock + i));
  }

 private:
  static constexpr std::size_t kBlock = 256;
  using Block = std::array<MirrorNode, kBlock>;
  std::vector<std::shared_ptr<Block>> blocks_;
};

/// A node as its group has it.
enum class NodeState : std::uint8_t {
  evictable,
  protected_,
  tombstone,  ///< its pages of this group were evicted
  without,    ///< it has no pages of this group, and as far as is known it never had any
};
inline constexpr std::size_t kNodeStates = 4;

}  // namespace canopy::inspector
