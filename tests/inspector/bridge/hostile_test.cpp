/// Streams that no server sends: very long, very deep, or without sense. Nothing crashes, and a clear ends it.
#include "followed.h"

using namespace attach_test;
using canopy::bridge::Tree;

namespace {

std::vector<std::uint64_t> numbers(std::uint64_t from, std::size_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = from + i;
  return all;
}

Tree::Stored chain(const std::vector<std::uint64_t>& hashes, const std::vector<Token>& tokens) {
  Tree::Stored stored;
  stored.hashes = hashes, stored.tokens = tokens, stored.root = 1;
  return stored;
}

}  // namespace

TEST_CASE("a chain of a million blocks is cut everywhere and grows together again") {
  constexpr std::size_t kBlocks = 1'000'000;
  Tree tree({1, false, false});
  const auto all = numbers(1, kBlocks);
  const std::vector<Token> tokens(kBlocks, 7);
  tree.store(chain(all, tokens), 1);
  CHECK(tree.runs().count() == 1);
  constexpr std::size_t kGone = kBlocks / 10;
  std::vector<std::uint64_t> gone;
  for (std::size_t i = 0; i < kBlocks; i += 10) gone.push_back(all[i]);
  tree.remove(0, 0, gone);
  CHECK(tree.runs().count() == 2 * kGone);
  CHECK(tree.runs().sums()[0] == kBlocks - kGone);
  tree.store(chain(all, tokens), 2);
  CHECK(tree.runs().count() == 1);
  CHECK(tree.copies() == kBlocks - kGone);
  tree.clear(0);
  CHECK(tree.blocks().count() == 0);
  CHECK(tree.copies() == 0);
}

TEST_CASE("a chain that arrives from its end to its beginning is put together") {
  constexpr std::size_t kBlocks = 20'000;
  Tree tree({1, false, false});
  const std::vector<Token> tokens{7};
  for (std::uint64_t hash = kBlocks; hash > 1; --hash) {
    auto stored = chain({}, tokens);
    const std::vector<std::uint64_t> one{hash};
    stored.hashes = one, stored.parent = hash - 1;
    tree.store(stored, 1);
  }
  CHECK(tree.orphans() == kBlocks - 1);
  CHECK(tree.can_mend());
  tree.mend(2);
  CHECK(tree.orphans() == 1);
  CHECK(tree.runs().count() == 1);
  tree.remove(0, 0, numbers(2, kBlocks - 1));
  CHECK(tree.blocks().count() == 0);
  CHECK(tree.runs().count() == 0);
}

TEST_CASE("events at random, with few hashes and no regard for sense, never break the tree") {
  std::mt19937_64 random(1);
  Tree tree({1, false, false});
  const std::vector<Token> tokens(8, 7);
  for (std::size_t step = 0; step < 200'000; ++step) {
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0, n = random() % 6; i < n; ++i) hashes.push_back(random() % 40);
    const auto worker = static_cast<std::uint16_t>(random() % 2);
    const auto group = static_cast<std::uint8_t>(random() % canopy::kMaxGroups);
    if (random() % 2 == 0) {
      Tree::Stored stored;
      stored.worker = worker, stored.group = group, stored.hashes = hashes, stored.root = 1;
      if (random() % 3 != 0) stored.parent = random() % 40;
      if (random() % 8 != 0) stored.tokens = std::span(tokens).first(hashes.size());
      tree.store(stored, step);
    } else {
      tree.remove(worker, group, hashes);
    }
    if (random() % 500 == 0) tree.clear(worker);
    if (tree.can_mend() && random() % 4 == 0) tree.mend(step);
  }
  std::uint64_t blocks = 0;
  for (std::uint32_t slot = 1; slot < tree.blocks().slots(); ++slot) blocks += tree.blocks()[slot].groups != 0;
  CHECK(tree.blocks_of(0) + tree.blocks_of(1) == blocks);
  tree.clear(0), tree.clear(1);
  CHECK(tree.blocks().count() == 0);
  CHECK(tree.runs().count() == 0);
  CHECK(tree.runs().sums() == std::array<std::uint64_t, canopy::kMaxGroups>{});
  CHECK(tree.orphans() == 0);
  CHECK(tree.unplaced() == 0);
  CHECK(tree.copies() == 0);
}

TEST_CASE("blocks without room are left out and counted, and what has left makes room") {
  Tree tree({1, false, false, 4});
  const std::vector<Token> tokens(6, 7);
  const auto first = numbers(1, 6);
  tree.store(chain(first, tokens), 1);
  CHECK(tree.blocks().count() == 4);
  CHECK(tree.counts().left_out == 2);
  tree.store(chain(first, tokens), 2);  // the first four are known
  CHECK(tree.copies() == 4);
  CHECK(tree.counts().left_out == 4);
  tree.clear(0);
  const auto others = numbers(11, 3);
  tree.store(chain(others, tokens), 3);
  CHECK(tree.blocks().count() == 3);
  CHECK(tree.runs().count() == 1);
  CHECK(tree.counts().left_out == 4);
}

TEST_CASE("payloads that cannot be read and numbers that are none are counted") {
  Server server(3, 0);
  Followed followed(false);
  for (int i = 0; i < 5; ++i) server.act();
  for (std::size_t i = 0; i < server.ring.size(); ++i) {
    if (i == 2) followed.receive({2, "no batch"}, false);  // in place of the real one
    else followed.receive(server.ring[i], false);
  }
  CHECK(followed.follower.unreadable() == 1);
  CHECK(followed.follower.trouble().starts_with("tcp://test 0, message 2: "));
  CHECK(followed.follower.counts_of(0).missing == 0);  // nothing behind it waits
  followed.receive({~std::uint64_t{0} - 1, server.ring[0].payload}, false);
  CHECK(followed.follower.unreadable() == 2);
}

TEST_CASE("a payload that cannot be read is a message of its topic's sender, and of none if that is not certain") {
  Server one(3, 0), other(4, 0);
  Followed followed(false);
  for (int i = 0; i < 6; ++i) one.act(), other.act();
  const auto receive = [&](const Server& server, const char* topic, std::size_t message, bool readable = true) {
    const Sent& sent = server.ring[message];
    followed.receive(readable ? sent : Sent{sent.sequence, "no batch"}, false, 0, topic);
  };
  for (std::size_t i = 0; i < 4; ++i) receive(one, "a", i);
  for (std::size_t i = 0; i < 2; ++i) receive(other, "b", i);
  receive(one, "a", 4, false);
  receive(one, "a", 5);
  for (std::size_t i = 2; i < 7; ++i) receive(other, "b", i);
  for (const std::uint16_t worker : {std::uint16_t{0}, std::uint16_t{1}}) {
    CAPTURE(worker);
    CHECK(followed.follower.counts_of(worker).restarts == 0);
    CHECK(followed.follower.counts_of(worker).gaps == 0);
  }
  // A topic that is not known yet, and one of two ranks.
  receive(one, "c", 0, false);
  CHECK(followed.follower.names().workers() == 2);
  Server rank(5, 1);
  receive(rank, "a", 0);
  REQUIRE(followed.follower.names().workers() == 3);
  receive(one, "a", 6, false);
  CHECK(followed.follower.unreadable() == 3);
  CHECK(followed.follower.counts_of(0).gaps == 0);
  CHECK(followed.follower.counts_of(2).gaps == 0);
}
