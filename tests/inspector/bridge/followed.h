#pragma once
#include <bridge/follower.h>
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include <mirror/mirror.h>
#include "server.h"

namespace attach_test {

using canopy::bridge::Follower;
using canopy::inspector::Mirror;
using canopy::inspector::MirrorNode;

/// A follower with a heap feed of tokens, and a reader of it.
class Followed {
 public:
  explicit Followed(bool repairs, std::size_t sources = 1)
      : follower({{canopy::FeedConfig::Kind::heap, "test", 1 << 16, true, false}, names_of(sources), repairs, false}) {}

  void receive(const Sent& sent, bool replayed, std::size_t source = 0, const char* topic = "topic") {
    const canopy::kv_events::Message message{replayed ? "" : topic, sent.sequence, sent.payload, false};
    follower.take(source, message, replayed, ++now_);
    turn();
  }
  void replay(const Server& server, std::size_t source = 0) {
    const std::uint64_t from = follower.wants_replay(source).value_or(0);
    for (const Sent& sent : server.ring)
      if (sent.sequence >= from) receive(sent, true, source);
    follower.replay_ended(source, from, ++now_);
    turn();
  }
  void turn() {
    follower.turn(now_ += 300'000);
    REQUIRE(follower.failure().empty());
    if (!follower.has_feed()) return;
    if (!reader_) {
      canopy::FeedHeader& header = follower.sink().writer().header();
      reader_ = std::make_unique<canopy::FeedReader>(header);
      mirror = std::make_unique<Mirror>(header);
      follower.turn(now_ += 2'000'000);
    }
    std::vector<canopy::Event> events(1024);
    for (std::size_t count = 0;;) {
      const auto outcome = reader_->read(events.data(), events.size(), count);
      REQUIRE(outcome != canopy::FeedReader::Outcome::lapped);
      if (outcome == canopy::FeedReader::Outcome::nothing) break;
      mirror->take({events.data(), count});
    }
  }

  /// Blocks by path and their groups, from the mirror alone; of the namespaces whose name begins so.
  std::map<Path, unsigned> tree(const std::string& space = {}) const {
    std::map<Path, unsigned> all;
    if (!mirror) return all;
    std::array<unsigned, 2> bit{};  // a feed's groups are numbered as they come
    for (std::size_t g = 0; g < mirror->groups(); ++g) bit.at(g) = mirror->pool(g).name == "CPU" ? 2 : 1;
    mirror->each_node([&](const MirrorNode& node) {
      if (!mirror->spaces()[static_cast<std::size_t>(node.space)].name.starts_with(space)) return;
      Path path(node.words);
      REQUIRE(path.size() == node.length);
      for (std::uint32_t at = node.parent; at != 0; at = mirror->node(at).parent)
        path.insert(path.begin(), mirror->node(at).words.begin(), mirror->node(at).words.end());
      REQUIRE(path.size() == node.end());
      unsigned groups = 0;
      for (std::size_t g = 0; g < mirror->groups(); ++g) groups |= node.has(g) ? bit.at(g) : 0;
      for (std::size_t n = node.begin + kPage; n <= node.end(); n += kPage)
        all[Path(path.begin(), path.begin() + std::ptrdiff_t(n))] = groups;
    });
    return all;
  }

  std::uint64_t now() const { return now_; }

  Follower follower;
  std::unique_ptr<Mirror> mirror;

 private:
  static std::vector<std::string> names_of(std::size_t sources) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sources; ++i) names.push_back("tcp://test " + std::to_string(i));
    return names;
  }

  std::unique_ptr<canopy::FeedReader> reader_;
  std::uint64_t now_ = 0;
};

/// Nodes that runs of only children in the same groups make.
inline std::size_t runs_of(const std::map<Path, unsigned>& tree) {
  std::map<Path, int> children;
  const auto above = [](const Path& path) { return Path(path.begin(), path.end() - kPage); };
  for (const auto& [path, groups] : tree) ++children[above(path)];
  std::size_t runs = 0;
  for (const auto& [path, groups] : tree) {
    const Path parent = above(path);
    runs += parent.empty() || children[parent] != 1 || tree.at(parent) != groups;
  }
  return runs;
}

inline void check_same(const Followed& followed, const Server& server) {
  const auto expected = server.tree();
  CHECK(followed.tree() == expected);
  if (!followed.mirror) return;
  CHECK(followed.mirror->node_count() == runs_of(expected));
  CHECK(followed.mirror->drift() == 0);
  CHECK(followed.mirror->unknown_events() == 0);
  CHECK(followed.mirror->damaged() == 0);
}

}  // namespace attach_test
