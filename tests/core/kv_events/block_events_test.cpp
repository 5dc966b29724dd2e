/// The events of an index's changes, which the test makes by hand: salts of every length, and groups that fill again.
#include <canopy/kv_events/block_events.h>
#include <doctest/doctest.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace canopy;
using namespace std::string_literals;
using kv_events::BlockEvents;
using kv_events::TreeQueue;

namespace {

constexpr Units kUnitsOfPage = 4;

/// The engine's side and the reader's of one queue.
class ByHand {
 public:
  ByHand(std::uint32_t groups, std::uint32_t overlap, KVEventsConfig config = of_vllm()) {
    TreeListener::Facts facts;
    facts.shape.page_size = kUnitsOfPage, facts.shape.overlap = overlap, facts.shape.groups = groups;
    for (std::uint32_t g = 0; g < groups; ++g) facts.shape.reaches[g] = g == 0 ? kWholePath : 16;
    facts.words = 1000;
    REQUIRE(queue.begin(facts).empty());
    events_.emplace(config, queue);
  }
  static KVEventsConfig of_vllm() {
    KVEventsConfig config;
    config.dialect = KVEventsConfig::Dialect::arrays, config.hashes = KVEventsConfig::Hashes::vllm;
    return config;
  }
  /// Returns the events of the newest operation.
  const kv_events::EventBatch& newest() {
    queue.turn();
    batch_.clear();
    while (const TreeQueue::Record* record = queue.next())
      while (!events_->take(*record, batch_)) {
      }
    return batch_;
  }
  const BlockEvents& events() const { return *events_; }
  TreeQueue queue{TreeQueue::WhenFull::drop};

 private:
  std::optional<BlockEvents> events_;
  kv_events::EventBatch batch_;
};

/// The names of the fields that are sent; of those sent as nil with "=nil".
std::vector<std::string> fields_of(const kv_events::Event& event) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kv_events::kFields; ++i) {
    const auto field = static_cast<kv_events::Field>(i);
    if (event.is_present(field))
      names.push_back(std::string(kv_events::name_of(field)) + (event.has(field) ? "" : "=nil"));
  }
  return names;
}

}  // namespace

TEST_CASE("an event has the fields that the servers send, and no others") {
  using Names = std::vector<std::string>;
  const std::vector<std::uint32_t> words{1, 2, 3, 4, 5, 6, 7, 8};
  const auto fields_of_events = [&](ByHand& index) {
    index.queue.space(NamespaceId{1}, "salt", "adapter");
    index.queue.added({.resident = 3, .node = NodeId{1}, .length = kUnitsOfPage}, words.data());
    index.queue.added({.resident = 1, .node = NodeId{2}, .parent = 1, .length = kUnitsOfPage}, words.data());
    index.queue.added({.resident = 1, .space = NamespaceId{1}, .node = NodeId{3}, .length = kUnitsOfPage},
                      words.data());
    index.queue.removed({.node = NodeId{2}});
    std::vector<Names> all;
    for (const kv_events::Event& event : index.newest().events) all.push_back(fields_of(event));
    return all;
  };
  ByHand sglang(1, 0, KVEventsConfig{}), vllm(2, 0);
  CHECK(sglang.events().removed == 0);
  const Names stored{"block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id=nil", "medium"};
  Names root = stored, salted = stored;
  root[1] += "=nil";
  salted = root;
  salted.insert(salted.end(), {"lora_name", "cache_salt"});
  CHECK(fields_of_events(sglang) == std::vector<Names>{root, stored, salted, {"block_hashes", "medium"}});
  CHECK(sglang.events().stored == 3);
  CHECK(sglang.events().removed == 1);
  const auto with = [](Names names, const Names& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  const Names full{"lora_name=nil", "group_idx", "kv_cache_spec_kind"};
  CHECK(fields_of_events(vllm) ==
        std::vector<Names>{with(root, full),
                           with(root, with(full, {"kv_cache_spec_sliding_window"})),
                           with(stored, full),
                           with(root, {"lora_name", "extra_keys", "group_idx", "kv_cache_spec_kind"}),
                           {"block_hashes", "medium", "group_idx"}});
}

TEST_CASE("a salt of any length is sent as MessagePack has it and part of a name as CBOR has it") {
  struct Length {
    std::size_t bytes;
    std::string msgpack, cbor;  // the bytes in front of the text
  };
  const Length lengths[] = {{1, "\xa1", "\x61"},
                            {23, "\xb7", "\x77"},
                            {24, "\xb8", "\x78\x18"},
                            {31, "\xbf", "\x78\x1f"},
                            {32, "\xd9\x20", "\x78\x20"},
                            {255, "\xd9\xff", "\x78\xff"},
                            {256, "\xda\x01\x00"s, "\x79\x01\x00"s},
                            {65'535, "\xda\xff\xff", "\x79\xff\xff"},
                            {65'536, "\xdb\x00\x01\x00\x00"s, "\x7a\x00\x01\x00\x00"s}};
  kv_events::VllmChain chain(kv_events::VllmChain::Function::sha256_cbor);
  const std::vector<std::uint32_t> words{1, 2, 3, 4};
  ByHand index(1, 0);
  std::uint32_t number = 0;
  for (const Length& length : lengths) {
    CAPTURE(length.bytes);
    const std::string salt(length.bytes, 's');
    const NamespaceId space{++number};
    index.queue.space(space, salt, "");
    index.queue.added({.resident = 1, .space = space, .node = NodeId{number}, .length = kUnitsOfPage}, words.data());
    const kv_events::EventBatch& batch = index.newest();
    REQUIRE(batch.events.size() == 1);
    CHECK(batch.text_of(batch.events[0], kv_events::Field::extra_keys) == "\x91\x91" + length.msgpack + salt);
    const kv_events::Digest name = chain.next(chain.root("0"), words, "\x81\x82jcache_salt" + length.cbor + salt);
    CHECK(batch.hashes_of(batch.events[0])[0].value == kv_events::VllmChain::name(name).value);
  }
}

TEST_CASE("a group that fills again is sent with all its tokens, and one that is full already sends nothing") {
  for (const std::uint32_t overlap : {0U, 1U}) {
    CAPTURE(overlap);
    ByHand index(2, overlap);
    std::vector<std::uint32_t> words(2 * kUnitsOfPage + overlap);
    std::iota(words.begin(), words.end(), 100);
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < 2 * kUnitsOfPage; ++i)
      for (std::uint32_t w = 0; w <= overlap; ++w) tokens.push_back(words[i + w]);
    const NodeId node{1}, unknown{5};
    const auto all_of = [](std::span<const Token> each) { return std::vector<Token>(each.begin(), each.end()); };
    index.queue.added({.resident = 1, .node = node, .length = 2 * kUnitsOfPage}, words.data());
    const kv_events::EventBatch& batch = index.newest();
    REQUIRE(batch.events.size() == 1);
    CHECK(all_of(batch.tokens_of(batch.events[0])) == tokens);
    index.queue.filled(node, 1, 2 * kUnitsOfPage, words.data());
    index.newest();
    REQUIRE(batch.events.size() == 1);
    CHECK(batch.events[0].group == 1);
    CHECK(all_of(batch.tokens_of(batch.events[0])) == tokens);
    index.queue.filled(node, 1, 2 * kUnitsOfPage, words.data());
    index.queue.filled(unknown, 0, 2 * kUnitsOfPage, words.data());
    CHECK(index.newest().events.empty());
    index.queue.tombstoned({.group = 1, .node = node});
    index.queue.filled(node, 1, 2 * kUnitsOfPage, words.data());
    index.newest();
    REQUIRE(batch.events.size() == 2);
    CHECK(batch.events[0].kind == kv_events::EventKind::removed);
    CHECK(batch.events[1].kind == kv_events::EventKind::stored);
  }
}
