#pragma once

#include <canopy/feed/kv_events_config.h>
#include <canopy/sockets/tree_queue.h>
#include <canopy/wire/event.h>
#include <canopy/wire/hash_chain.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::sockets {

/// Makes KV events of what a TreeQueue tells: blocks are pages, and each has a name that stands for its whole prefix.
/// It keeps 32 bytes for each block that is in the index, and no token.
///
/// A split makes no event. An event's `group_idx` says which group it is about where the form has it: arrays, and maps
/// with vLLM's names. SGLang's maps have none, so they tell of the first group alone.
class BlockEvents {
 public:
  /// Most blocks of one event, and so of what one call adds to a batch.
  static constexpr std::size_t kMostBlocks = 512;

  /// REQUIRES: `queue` has begun and outlives this.
  BlockEvents(const KvEventsConfig& config, const TreeQueue& queue);

  /// Adds what a record tells to a batch. False: it was only a part, and the same record must be passed again.
  bool take(const TreeQueue::Record& record, wire::EventBatch& batch);
  /// Forgets everything and tells so.
  void clear(wire::EventBatch& batch);

  std::uint64_t stored = 0, removed = 0;  ///< blocks told of
  std::uint64_t unplaced = 0;             ///< nodes whose parent is not known: never, but for a defective index

 private:
  struct Space {
    std::string salt, adapter;
    wire::Digest root;
  };
  struct Node {
    std::uint64_t id = 0;
    std::uint32_t parent = 0;  ///< its slot; 0: the root of the namespace
    std::uint32_t space = 0;
    std::uint16_t resident = 0;
    std::vector<wire::Digest> names;  ///< of its blocks; empty: no such node
  };
  Node* find(std::uint64_t id);
  Node& at(std::uint32_t slot);
  const Space& space_of(std::uint32_t number);
  wire::Digest before(const Node& node);
  bool add(const TreeQueue::Record& record, wire::EventBatch& batch);
  bool fill(const TreeQueue::Record& record, wire::EventBatch& batch);
  void split(const TreeQueue::Record& record);
  void remove(const Node& node, std::uint16_t groups, wire::EventBatch& batch);
  void name(Node& node, std::span<const std::uint32_t> words);
  bool store(const Node& node, std::uint16_t groups, std::span<const std::uint32_t> words, wire::EventBatch& batch);
  void put_group(wire::Event& event, std::size_t group, wire::EventBatch& batch) const;
  void put_extra_keys(wire::Event& event, const Space& space, std::size_t blocks, wire::EventBatch& batch) const;
  std::span<const Token> tokens_of(std::span<const std::uint32_t> words, std::size_t first, std::size_t units);
  wire::BlockHash name_of(const wire::Digest& digest) const;

  const KvEventsConfig config_;
  const FeedShape shape_;
  bool tells_groups_;
  std::vector<Space> spaces_;
  std::vector<Node> nodes_;  ///< by slot
  wire::SglangChain sglang_;
  wire::VllmChain vllm_{wire::VllmChain::Function::sha256_cbor};
  std::vector<Token> pairs_;
  std::vector<wire::BlockHash> hashes_;
  std::size_t group_ = 0, block_ = 0;  ///< how far a record was told that is taken in parts
};

}  // namespace canopy::sockets
