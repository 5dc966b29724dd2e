/// Several workers side by side, and what they have in common.
#include <mirror/feed_lines.h>

#include "followed.h"

using namespace attach_test;

namespace {

/// A message that blocks were stored. `pairs`: each token is followed by the second one of its pair.
Sent stored(std::uint64_t sequence, std::optional<int> parent, const std::vector<int>& hashes,
            const std::vector<Token>& tokens, bool pairs = false) {
  kv_events::EventBatch batch;
  batch.time = static_cast<double>(sequence);
  kv_events::Event event;
  event.kind = kv_events::EventKind::stored;
  event.token_pairs = pairs;
  if (parent) event.set_present(kv_events::Field::parent_block_hash), event.parent = kv_events::signed_hash(*parent);
  std::vector<kv_events::BlockHash> names;
  for (const int hash : hashes) names.push_back(kv_events::signed_hash(hash));
  batch.set_hashes(event, names);
  batch.set_tokens(event, tokens);
  event.set_present(kv_events::Field::block_size), event.block_size = kPage;
  batch.events.push_back(event);
  Sent sent{sequence, {}};
  kv_events::write_batch(batch, kv_events::Form::maps, sent.payload);
  return sent;
}

/// The same, of blocks whose tokens are their hashes.
Sent of_itself(std::uint64_t sequence, std::optional<int> parent, const std::vector<int>& hashes) {
  std::vector<Token> tokens;
  for (const int hash : hashes) tokens.insert(tokens.end(), kPage, static_cast<Token>(hash));
  return stored(sequence, parent, hashes, tokens);
}

/// A message that a block was removed; without a hash, all of them.
Sent removed(std::uint64_t sequence, std::optional<int> hash) {
  kv_events::EventBatch batch;
  kv_events::Event event;
  event.kind = hash ? kv_events::EventKind::removed : kv_events::EventKind::cleared;
  if (hash) batch.set_hashes(event, std::vector{kv_events::signed_hash(*hash)});
  batch.events.push_back(event);
  Sent sent{sequence, {}};
  kv_events::write_batch(batch, kv_events::Form::maps, sent.payload);
  return sent;
}

}  // namespace

TEST_CASE("workers of several servers and ranks stand side by side, each with its own tree") {
  Server first(1, 0), second(2, 0);
  Followed followed(false, 2);
  const std::array<Server*, 2> servers{&first, &second};
  std::array<std::size_t, 2> received{};
  for (std::size_t of = 0; of < 2; ++of) followed.receive(servers[of]->ring[received[of]++], false, of);
  for (std::size_t step = 0; step < 200; ++step) {
    const std::size_t of = step % 2;
    servers[of]->act();
    for (; received[of] < servers[of]->ring.size(); ++received[of])
      followed.receive(servers[of]->ring[received[of]], false, of);
    CHECK(followed.tree("tcp://test 0") == first.tree());
    CHECK(followed.tree("tcp://test 1") == second.tree());
  }
  const auto blocks = [](const Server& server) {
    std::vector<Path> all;
    for (const auto& [path, groups] : server.tree())
      if (groups != 0) all.push_back(path);
    return all;
  };
  const auto one = blocks(first), other = blocks(second);
  std::vector<Path> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  REQUIRE(!both.empty());
  const canopy::bridge::Common& common = followed.follower.tree()->common();
  CHECK(common.blocks_of(0) == one.size());
  CHECK(common.blocks_of(1) == other.size());
  CHECK(common.shared_of(0) == both.size());
  CHECK(common.shared_of(1) == both.size());
  followed.turn();
  REQUIRE(followed.mirror->workers().size() == 2);
  CHECK(followed.mirror->workers()[0] == "tcp://test 0\t" + std::to_string(one.size() * kPage) + "\t" +
                                             std::to_string(both.size() * kPage) + "\twhole\t");
  // The end of a server is reported, and so is its return; its blocks stay.
  followed.follower.set_lost(1, "the connection was lost");
  followed.turn();
  CHECK(canopy::inspector::servers_lost(followed.mirror->workers()) == 1);
  CHECK(canopy::inspector::WorkerLine(followed.mirror->workers()[1]).events() ==
        "the connection was lost; before: whole");
  CHECK(followed.tree("tcp://test 1") == second.tree());
  followed.follower.set_lost(1, "");
  followed.turn();
  CHECK(canopy::inspector::servers_lost(followed.mirror->workers()) == 0);
  second.clear();
  followed.receive(second.ring.back(), false, 1);
  CHECK(followed.tree("tcp://test 0") == first.tree());
  CHECK(common.shared_of(0) == 0);
}

TEST_CASE("a server of which blocks were left out is not whole until it clears its cache") {
  Followed followed(false, 2);
  followed.receive(of_itself(0, std::nullopt, {1, 2}), false, 0);
  kv_events::EventBatch batch;
  kv_events::Event event;
  event.kind = kv_events::EventKind::stored;
  batch.set_hashes(event, std::vector{kv_events::signed_hash(7)});
  batch.set_tokens(event, std::vector<Token>(2 * kPage, 7));
  event.set_present(kv_events::Field::block_size), event.block_size = 2 * kPage;
  batch.events.push_back(event);
  Sent other{0, {}};
  kv_events::write_batch(batch, kv_events::Form::maps, other.payload);
  followed.receive(other, false, 1);
  CHECK(followed.follower.state_of(0) == "whole");
  CHECK(followed.follower.state_of(1) == "incomplete, 1 block was left out");
  followed.receive(removed(1, std::nullopt), false, 1);
  CHECK(followed.follower.state_of(1) == "whole");
  CHECK(followed.follower.doubts().size() == 1);  // the left out block stays a doubt of all figures
}

TEST_CASE("extra keys name a namespace only if there is one for each block") {
  const std::string each_none = "\x92\xc0\xc0", first_has_one = "\x92\x91\xa4salt\xc0", three = "\x93\xc0\x91\xa1k\xc0",
                    none = "\xa2no";
  for (const auto& [keys, label, count] :
       {std::tuple{each_none, "", 0}, {first_has_one, "keys [\"salt\"]", 2}, {three, "", 0}, {none, "", 0}}) {
    CAPTURE(keys);
    kv_events::EventBatch batch;
    kv_events::Event event;
    event.kind = kv_events::EventKind::stored;
    batch.set_hashes(event, std::vector{kv_events::signed_hash(1), kv_events::signed_hash(2)});
    batch.set_text(event, kv_events::Field::extra_keys, keys);
    const auto found = canopy::bridge::keys_of(batch, event);
    CHECK(found.label == label);
    CHECK(found.extra.size() == static_cast<std::size_t>(count));
  }
}

TEST_CASE("blocks of pairs of tokens have the first token of each pair, whatever came before them") {
  Followed followed(false);
  const auto pairs = [](std::uint64_t sequence, int hash, std::optional<int> parent, Token first) {
    std::vector<Token> tokens;
    for (Token i = 0; i < kPage; ++i) tokens.insert(tokens.end(), {first + i, first + i + 1});
    return stored(sequence, parent, {hash}, tokens, true);
  };
  followed.receive(pairs(0, 1, std::nullopt, 100), false);
  followed.receive(pairs(1, 2, 1, 100 + kPage), false);
  Path path;
  std::map<Path, unsigned> expected;
  for (Token i = 0; i < 2 * kPage; ++i) {
    path.push_back(100 + i);
    if (path.size() % kPage == 0) expected[path] = 1;
  }
  CHECK(followed.tree() == expected);
}

TEST_CASE("what is lost is counted, and blocks whose parent is unknown are said to be so until it comes") {
  Followed followed(false);
  followed.receive(of_itself(0, std::nullopt, {1, 2}), false);
  followed.receive(of_itself(2, 3, {4, 5}), false);  // message 1 had the block of 3, and is lost
  CHECK(followed.follower.tree()->blocks().count() == 2);
  for (int i = 0; i < 5; ++i) followed.turn();  // after its patience
  CHECK(followed.follower.tree()->blocks().count() == 4);
  CHECK(followed.follower.tree()->orphans() == 1);
  CHECK(followed.follower.counts_of(0).missing == 1);
  CHECK(followed.follower.report().find("does not know") == std::string::npos);
  CHECK(followed.follower.state_of(0) == "incomplete until it clears its cache or restarts, 1 gap, 1 never came");
  CHECK(followed.tree("unknown prefix").size() == 2);
  followed.receive(of_itself(3, 2, {3}), false);
  followed.turn();
  CHECK(followed.follower.tree()->orphans() == 0);
  CHECK(followed.tree("unknown prefix").empty());
  CHECK(followed.tree() == std::map<Path, unsigned>{{{1, 1}, 1},
                                                    {{1, 1, 2, 2}, 1},
                                                    {{1, 1, 2, 2, 3, 3}, 1},
                                                    {{1, 1, 2, 2, 3, 3, 4, 4}, 1},
                                                    {{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, 1}});
  CHECK(followed.mirror->node_count() == 1);
  CHECK(followed.mirror->drift() == 0);
  // Its own parent: it makes no sense, and hangs nothing up.
  followed.receive(of_itself(4, 9, {9, 10}), false);
  followed.receive(of_itself(5, 10, {11}), false);
  followed.turn();
  CHECK(followed.follower.tree()->blocks().count() == 8);
}

TEST_CASE("blocks whose parent comes late are shared with other servers from then on") {
  Followed followed(false, 2);
  followed.receive(of_itself(0, std::nullopt, {1, 2}), false);
  followed.receive(of_itself(0, std::nullopt, {1, 2, 3, 4, 5}), false, 1);
  followed.receive(of_itself(1, 3, {4, 5}), false);
  followed.receive(of_itself(2, 5, {6}), false);
  followed.receive(removed(3, 4), false);
  const canopy::bridge::Common& common = followed.follower.tree()->common();
  CHECK(common.blocks_of(0) == 4);
  CHECK(common.shared_of(0) == 2);
  followed.receive(of_itself(4, 2, {3}), false);
  followed.turn();
  REQUIRE(followed.follower.tree()->orphans() == 0);
  CHECK(common.blocks_of(0) == 5);
  CHECK(common.shared_of(0) == 4);  // all but 6
  CHECK(common.shared_of(1) == 4);  // all but 4
  followed.receive(removed(5, 5), false);
  CHECK(common.shared_of(1) == 3);
  followed.receive(removed(1, std::nullopt), false, 1);
  CHECK(common.shared_of(0) == 0);
}
