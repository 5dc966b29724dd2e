#pragma once

#include <canopy/engine/engine.h>
#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/hash_chain.h>
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace canopy::test {

/// The blocks that a reader of events knows, by group and name.
struct EventTree {
  struct Block {
    std::uint64_t parent = 0;
    bool is_root = false;
    std::vector<Token> tokens;
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::map<std::pair<std::int64_t, std::uint64_t>, Block> blocks;
  std::uint64_t clears = 0;

  /// Applies a batch as a careful consumer does.
  void take(const kv_events::EventBatch& batch) {
    for (const kv_events::Event& event : batch.events) {
      const auto hashes = batch.hashes_of(event);
      if (event.kind == kv_events::EventKind::cleared) {
        blocks.clear();
        ++clears;
      } else if (event.kind == kv_events::EventKind::removed) {
        for (const kv_events::BlockHash& hash : hashes) CHECK(blocks.erase({event.group, hash.value}) == 1);
      } else {
        REQUIRE(kv_events::tokens_match_hashes(event));
        const std::size_t width = event.tokens.count / event.hashes.count;
        std::uint64_t parent = event.parent.value;
        bool is_root = !event.has(kv_events::Field::parent_block_hash);
        for (std::size_t i = 0; i < hashes.size(); ++i) {
          const auto tokens = batch.tokens_of(event).subspan(i * width, width);
          const bool is_new =
              blocks.try_emplace({event.group, hashes[i].value}, Block{parent, is_root, {tokens.begin(), tokens.end()}})
                  .second;
          CHECK(is_new);
          parent = hashes[i].value, is_root = false;
        }
      }
    }
  }
};

/// The blocks of the engine's index, named from the root on by the chain itself.
class IndexTree final : public NodeVisitor {
 public:
  IndexTree(const Engine& engine, bool sglang, std::size_t groups) : engine_(engine), sglang_(sglang), groups_(groups) {
    engine.index().visit(*this);
  }
  EventTree tree;

 private:
  void node(const NodeView& node) override {
    const Units page = engine_.page_size(), overlap = state_of(engine_).overlap;
    const std::string_view salt = state_of(engine_).spaces.salt_of(node.facts.space);
    const bool at_root = node.parent == NodeId::none;
    kv_events::Digest digest = !at_root       ? ends_.at(node.parent)
                               : !sglang_     ? vllm_.root("0")
                               : salt.empty() ? kv_events::Digest{}
                                              : sglang_chain_.root(salt);
    for (Units at = 0; at < node.facts.length; at += page) {
      std::vector<Token> tokens;
      for (Units i = at; i < at + page; ++i)
        for (Units w = 0; w <= overlap; ++w) tokens.push_back(node.words[i + w]);
      const std::uint64_t parent = name_of(digest);
      const bool first = at_root && at == 0;
      digest = sglang_ ? sglang_chain_.next(digest, tokens)
                       : vllm_.next(digest, tokens, first && !salt.empty() ? keys_of(salt) : "\xf6");
      for (std::size_t g = 0; g < groups_; ++g)
        if (!node.pages[g].empty())
          tree.blocks[{static_cast<std::int64_t>(g), name_of(digest)}] = {first ? 0 : parent, first, tokens};
    }
    ends_[node.facts.id] = digest;
  }
  std::uint64_t name_of(const kv_events::Digest& digest) const {
    if (digest.size == 0) return 0;
    return (sglang_ ? kv_events::SglangChain::name(digest) : kv_events::VllmChain::name(digest)).value;
  }
  /// Canonical CBOR of (("cache_salt", salt),), for salts of less than 24 bytes.
  static std::string keys_of(std::string_view salt) {
    REQUIRE(salt.size() < 24);
    return "\x81\x82jcache_salt" + std::string(1, static_cast<char>(0x60 + salt.size())) + std::string(salt);
  }

  const Engine& engine_;
  const bool sglang_;
  const std::size_t groups_;
  kv_events::SglangChain sglang_chain_;
  kv_events::VllmChain vllm_{kv_events::VllmChain::Function::sha256_cbor};
  std::map<NodeId, kv_events::Digest> ends_;
};

}  // namespace canopy::test
