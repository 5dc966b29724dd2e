#pragma once

#include <canopy/feed/kv_events_config.h>
#include <canopy/kv_events/event.h>
#include <canopy/kv_events/hash_chain.h>
#include <canopy/kv_events/tree_queue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace canopy::kv_events {

/// Makes KV events from the records of a TreeQueue. A block is a page, and its name stands for its whole prefix. Keeps
/// 33 bytes for each block in the index, and no tokens.
///
/// A split makes no event. An event has its group in `group_idx` if the dialect has this field: arrays, and maps with
/// vLLM's names. SGLang's maps do not have it, so they have events of the first group only.
class BlockEvents {
 public:
  /// Most blocks in one event, and in the stored events of one call of take().
  static constexpr std::size_t kMostBlocks = 512;

  /// REQUIRES: `queue` has begun and outlives this object.
  BlockEvents(const KVEventsConfig& config, const TreeQueue& queue);

  /// Adds the events of a record to a batch. Returns false if these were only a part: pass the same record again.
  bool take(const TreeQueue::Record& record, EventBatch& batch);
  /// Forgets everything and adds a cleared event.
  void clear(EventBatch& batch);

  std::uint64_t stored = 0, removed = 0;  ///< Blocks in the events so far.
  std::uint64_t unplaced = 0;             ///< Nodes with an unknown parent, which only a defective index reports.

 private:
  struct Space {
    std::string salt, adapter;
    Digest root;
  };
  struct Node {
    std::uint64_t id = 0;
    std::uint32_t parent = 0;  ///< Slot of the parent. 0: the root of the namespace.
    std::uint32_t space = 0;
    std::uint16_t resident = 0;
    std::vector<Digest> names;  ///< Digests of its blocks. Empty: there is no node in the slot.
  };
  /// Position in a record that is taken in parts.
  struct Part {
    std::size_t group = 0, block = 0;
  };
  Node* find(std::uint64_t id);
  Node& at(std::uint32_t slot);
  const Space& space_of(std::uint32_t number);
  Digest before(const Node& node);
  bool add(const TreeQueue::Record& record, EventBatch& batch);
  bool fill(const TreeQueue::Record& record, EventBatch& batch);
  void split(const TreeQueue::Record& record);
  void remove(const Node& node, std::uint16_t groups, EventBatch& batch);
  void name(Node& node, std::span<const std::uint32_t> words);
  /// Returns the number of groups with events.
  std::size_t groups() const { return has_groups_ ? shape_.groups : 1; }
  std::size_t next_group(std::uint16_t groups, std::size_t from) const;
  bool store(const Node& node, std::uint16_t groups, std::span<const std::uint32_t> words, EventBatch& batch);
  void store_part(const Node& node, Part part, std::size_t count, std::span<const std::uint32_t> words,
                  EventBatch& batch);
  void set_hashes(Event& event, std::span<const Digest> names, EventBatch& batch);
  void put_group(Event& event, std::size_t group, EventBatch& batch) const;
  void put_extra_keys(Event& event, const Space& space, std::size_t blocks, EventBatch& batch) const;
  std::span<const Token> tokens_of(std::span<const std::uint32_t> words, std::size_t first, std::size_t units);
  BlockHash name_of(const Digest& digest) const;

  const KVEventsConfig config_;
  const FeedShape shape_;
  const bool has_groups_;
  std::vector<Space> spaces_;
  std::vector<Node> nodes_;  ///< Nodes by slot.
  VllmChain vllm_{VllmChain::Function::sha256_cbor};
  std::vector<Token> pairs_;
  std::vector<BlockHash> hashes_;
  /// Position after the part of a record that the last take() read. Empty: it read the whole record.
  std::optional<Part> part_;
};

}  // namespace canopy::kv_events
