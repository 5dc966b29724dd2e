/// Where a prompt lives: the index against plain maps, and events of every kind into it.
#include <canopy/routing/event_intake.h>
#include <canopy/support/random.h>
#include <canopy/wire/codec.h>
#include <canopy/wire/stream.h>
#include <doctest/doctest.h>
#include <support/shared_folder.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

namespace {

using namespace canopy;
using namespace canopy::routing;
using wire::Field;

/// The same questions answered by maps of whole prefixes.
struct PlainIndex {
  using Prefix = std::vector<Token>;
  std::vector<std::map<std::uint64_t, Prefix>> hashes;  ///< by worker
  std::vector<std::map<Prefix, std::set<Tier>>> blocks;

  explicit PlainIndex(std::size_t workers) : hashes(workers), blocks(workers) {}
  void store(std::size_t worker, Tier tier, std::uint64_t hash, const Prefix& prefix) {
    hashes[worker][hash] = prefix;
    blocks[worker][prefix].insert(tier);
  }
  void remove(std::size_t worker, Tier tier, std::uint64_t hash) {
    const auto known = hashes[worker].find(hash);
    if (known == hashes[worker].end()) return;
    auto& tiers = blocks[worker][known->second];
    tiers.erase(tier);
    if (!tiers.empty()) return;
    blocks[worker].erase(known->second);
    hashes[worker].erase(known);
  }
  Overlap find(std::size_t worker, const std::vector<Token>& prompt, std::size_t size) const {
    Overlap overlap;
    for (std::size_t end = size; end <= prompt.size(); end += size) {
      const auto at = blocks[worker].find(Prefix(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(end)));
      if (at == blocks[worker].end()) break;
      ++overlap.blocks[static_cast<std::size_t>(*at->second.begin())];
    }
    return overlap;
  }
};

wire::Event stored(wire::EventBatch& batch, const std::vector<std::int64_t>& hashes, std::optional<std::int64_t> parent,
                   const std::vector<Token>& tokens, std::int64_t size) {
  wire::Event event;
  event.kind = wire::EventKind::stored;
  std::vector<wire::BlockHash> list;
  for (const std::int64_t hash : hashes) list.push_back(wire::signed_hash(hash));
  batch.set_hashes(event, list);
  batch.set_tokens(event, tokens);
  event.block_size = size;
  event.set_present(Field::block_size);
  if (parent) event.parent = wire::signed_hash(*parent), event.set_present(Field::parent_block_hash);
  else event.set_nil(Field::parent_block_hash);
  return event;
}

wire::Event removed(wire::EventBatch& batch, std::int64_t hash) {
  wire::Event event;
  event.kind = wire::EventKind::removed;
  batch.set_hashes(event, std::vector{wire::signed_hash(hash)});
  return event;
}

struct World {
  explicit World(std::size_t workers = 2, std::uint32_t size = 2) : index(size, workers, 0, 99), found(workers) {
    for (std::size_t worker = 0; worker < workers; ++worker) intakes.emplace_back(index, worker);
  }
  void take(std::size_t worker, const wire::Event& event) {
    batch.events = {event};
    intakes[worker].take(batch);
  }
  const std::vector<Overlap>& find(const std::vector<Token>& prompt, Name root = root_of()) {
    index.find(prompt, root, found, scratch);
    return found;
  }
  BlockIndex index;
  std::vector<EventIntake> intakes;
  std::vector<Overlap> found;
  BlockIndex::Scratch scratch;
  wire::EventBatch batch;
};

}  // namespace

TEST_CASE("random stores, removals, clears and questions are answered as plain maps answer them") {
  constexpr std::size_t kWorkers = 5, kSize = 2, kDepth = 6;
  BlockIndex index(kSize, kWorkers, 0, 12345);
  PlainIndex plain(kWorkers);
  Random random(11);
  // Few tokens, so that prefixes are shared; a hash is the worker's own way to name a prefix.
  const auto prompt = [&] {
    std::vector<Token> tokens(kSize * (1 + random.below(kDepth)));
    for (Token& token : tokens) token = static_cast<Token>(random.below(2));
    return tokens;
  };
  const auto hash_of = [](std::size_t worker, const std::vector<Token>& tokens) {
    std::uint64_t hash = worker + 1;
    for (const Token token : tokens) hash = splitmix64(hash * 31 + token);
    return hash;
  };
  const auto name_of = [](const std::vector<Token>& tokens) {
    Name name = root_of();
    for (std::size_t at = 0; at < tokens.size(); at += kSize)
      name = next_name(name, std::span(tokens).subspan(at, kSize));
    return name;
  };
  std::vector<Overlap> found(kWorkers);
  BlockIndex::Scratch scratch;
  for (int step = 0; step < 60'000; ++step) {
    const std::size_t worker = random.below(kWorkers);
    const Tier tier = static_cast<Tier>(random.below(kTiers));
    const std::vector<Token> tokens = prompt();
    const std::uint64_t hash = hash_of(worker, tokens);
    switch (random.below(20)) {
      default:
        index.store(worker, tier, hash, name_of(tokens));
        plain.store(worker, tier, hash, tokens);
        break;
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        index.remove(worker, tier, hash);
        plain.remove(worker, tier, hash);
        break;
      case 9:
        if (!random.one_in(200)) break;
        index.clear(worker);
        plain.hashes[worker].clear(), plain.blocks[worker].clear();
        break;
    }
    const std::vector<Token> asked = prompt();
    index.find(asked, root_of(), found, scratch);
    for (std::size_t one = 0; one < kWorkers; ++one) REQUIRE(found[one] == plain.find(one, asked, kSize));
    if (step % 100 != 0) continue;
    std::set<std::vector<Token>> all;
    for (std::size_t one = 0; one < kWorkers; ++one) {
      REQUIRE(index.blocks(one) == plain.blocks[one].size());
      for (const auto& [prefix, tiers] : plain.blocks[one]) all.insert(prefix);
    }
    REQUIRE(index.blocks() == all.size());
  }
}

TEST_CASE("a prefix ends at its first gap, and each block counts in its best tier") {
  World world;
  auto& batch = world.batch;
  world.take(0, stored(batch, {1, 2, 3}, {}, {1, 1, 2, 2, 3, 3}, 2));
  wire::Event host = stored(batch, {2}, 1, {2, 2}, 2);
  batch.set_text(host, Field::medium, "CPU_PINNED");
  world.take(0, host);
  world.take(1, stored(batch, {70}, {}, {1, 1}, 2));
  CHECK(world.find({1, 1, 2, 2, 3, 3, 4})[0] == Overlap{{3, 0, 0}});
  CHECK(world.found[1] == Overlap{{1, 0, 0}});
  world.take(0, removed(batch, 2));  // from the device: it is in host memory still
  CHECK(world.find({1, 1, 2, 2, 3, 3})[0] == Overlap{{2, 1, 0}});
  world.take(0, removed(batch, 1));
  CHECK(world.find({1, 1, 2, 2, 3, 3})[0].total() == 0);
  CHECK(world.found[1].total() == 1);
  wire::Event clear;
  world.take(1, clear);
  CHECK(world.index.blocks(1) == 0);
  CHECK(world.index.blocks() == 2);
}

TEST_CASE("what cannot be placed is counted by its reason and found by no query") {
  World world;
  auto& batch = world.batch;
  const auto counts = [&] { return world.intakes[0].counts(); };
  world.take(0, stored(batch, {2}, 1, {2, 2}, 2));
  CHECK(counts().unknown_parents == 1);
  world.take(0, stored(batch, {5}, {}, {1, 2, 3}, 3));
  CHECK(counts().other_sizes == 1);
  world.take(0, stored(batch, {5, 6}, {}, {1, 2}, 2));
  CHECK(counts().no_tokens == 2);
  wire::Event keyed = stored(batch, {7}, {}, {1, 2}, 2);
  batch.set_text(keyed, Field::extra_keys, "\x91\x91\xa1x");
  world.take(0, keyed);
  CHECK(counts().extra_keys == 1);
  wire::Event tape = stored(batch, {8}, {}, {1, 2}, 2);
  batch.set_text(tape, Field::medium, "TAPE");
  world.take(0, tape);
  CHECK(counts().other_media == 1);
  wire::Event window = stored(batch, {9}, {}, {1, 2}, 2);
  batch.set_text(window, Field::kv_cache_spec_kind, "sliding_window");
  window.group = 1, window.set_present(Field::group_idx);
  world.take(0, window);
  CHECK(counts().other_groups == 1);
  CHECK(counts().left_out() == 7);
  CHECK(world.index.blocks() == 0);
  world.take(0, removed(batch, 44));
  CHECK(counts().unknown_removed == 1);

  // A list of nils is no key, nor is an empty one, and a removal in a group of windows takes nothing away.
  wire::Event plain = stored(batch, {9}, {}, {1, 2}, 2);
  batch.set_text(plain, Field::extra_keys, "\x91\xc0");
  world.take(0, plain);
  wire::Event below = stored(batch, {10}, 9, {3, 4}, 2);
  batch.set_text(below, Field::extra_keys, "\x90");
  world.take(0, below);
  CHECK(counts().extra_keys == 1);
  wire::Event gone = removed(batch, 9);
  gone.group = 1, gone.set_present(Field::group_idx);
  world.take(0, gone);
  CHECK(world.find({1, 2, 3, 4})[0].total() == 2);
}

TEST_CASE("a prompt of many blocks is found to its end, or to its first gap") {
  World world;
  std::vector<std::int64_t> hashes(100);
  std::iota(hashes.begin(), hashes.end(), 1);
  std::vector<Token> tokens(200);
  std::iota(tokens.begin(), tokens.end(), 7);
  world.take(0, stored(world.batch, hashes, {}, tokens, 2));
  CHECK(world.find(tokens)[0].total() == 100);
  tokens.insert(tokens.end(), 200, 3);
  CHECK(world.find(tokens)[0].total() == 100);
  world.take(0, removed(world.batch, 61));
  CHECK(world.find(tokens)[0].total() == 60);
}

TEST_CASE("salts and adapters keep prompts apart, pairs count by their first tokens, repeats are one copy") {
  World world;
  auto& batch = world.batch;
  wire::Event salted = stored(batch, {1}, {}, {1, 2}, 2);
  batch.set_text(salted, Field::cache_salt, "s");
  world.take(0, salted);
  wire::Event adapted = stored(batch, {2}, {}, {1, 2}, 2);
  batch.set_text(adapted, Field::lora_name, "l");
  world.take(0, adapted);
  CHECK(world.find({1, 2})[0].total() == 0);
  CHECK(world.find({1, 2}, root_of("", "s"))[0].total() == 1);
  CHECK(world.find({1, 2}, root_of("l", ""))[0].total() == 1);
  CHECK(world.find({1, 2}, root_of("s", ""))[0].total() == 0);
  CHECK(world.find({1, 2}, root_of("", "t"))[0].total() == 0);
  wire::Event pairs = stored(batch, {3}, {}, {5, 6, 6, 7}, 2);
  pairs.token_pairs = true;
  world.take(1, pairs);
  world.take(1, pairs);
  CHECK(world.find({5, 6, 7})[1].total() == 1);
  world.take(1, removed(batch, 3));
  CHECK(world.find({5, 6, 7})[1].total() == 0);
}

TEST_CASE("a hash that a worker gives to another block takes the first one away") {
  World world;
  world.take(0, stored(world.batch, {1}, {}, {1, 2}, 2));
  world.take(0, stored(world.batch, {1}, {}, {3, 4}, 2));
  CHECK(world.find({1, 2})[0].total() == 0);
  CHECK(world.find({3, 4})[0].total() == 1);
  CHECK(world.index.blocks(0) == 1);
  world.take(0, removed(world.batch, 1));
  CHECK(world.index.blocks() == 0);
}

TEST_CASE("the recorded streams of SGLang are placed whole") {
  for (const char* name : {"events/sglang-0.5.23_radix_default.bin", "events/sglang-0.5.23_rust_default.bin"}) {
    const auto path = canopy::test::shared_file(name);
    if (path.empty()) return;
    std::ifstream file(path, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    const std::string bytes = content.str();
    wire::RecordedStream stream(bytes);
    wire::Message message;
    wire::EventBatch batch;
    std::vector<wire::EventBatch> batches;
    std::int64_t size = 0;
    for (auto next = stream.next(message); next && *next; next = stream.next(message)) {
      if (message.is_end) continue;
      REQUIRE(wire::read_batch(message.payload, batch));
      for (const wire::Event& event : batch.events)
        if (event.kind == wire::EventKind::stored) size = event.block_size;
      batches.push_back(batch);
    }
    REQUIRE(size > 0);
    World world(1, static_cast<std::uint32_t>(size));
    for (const wire::EventBatch& one : batches) world.intakes[0].take(one);
    CHECK(world.intakes[0].counts().stored > 0);
    CHECK(world.intakes[0].counts().left_out() == 0);
  }
}
