/// The calls that a listener of the tree gets after it has lost some.
#include <canopy/feed/tree_listener.h>
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <support/engines.h>

#include <string>
#include <utility>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Writes down its calls, and says once that it has lost some.
class Record final : public TreeListener {
 public:
  std::string begin(const Facts&) override { return {}; }
  void space(NamespaceId space, std::string_view salt, std::string_view adapter) override {
    calls += fmt::format("space {} salt {} adapter {}\n", static_cast<int>(space), salt, adapter);
  }
  void added(const event::NodeAdded& node, const std::uint32_t* words) override {
    calls += fmt::format("added to {}: {} words from {} on\n", static_cast<int>(node.space), node.length, *words);
  }
  void filled(NodeId, std::uint8_t, Units, const std::uint32_t*) override { calls += "filled\n"; }
  void tombstoned(const event::NodeTombstoned&) override { calls += "tombstoned\n"; }
  void split(const event::NodeSplit&) override { calls += "split\n"; }
  void removed(const event::NodeRemoved&) override { calls += "removed\n"; }
  void cleared(const event::Cleared&) override { calls += "cleared\n"; }
  bool turn() override {
    calls += "turn\n";
    return std::exchange(has_lost, false);
  }
  void resync() override { calls += "resync\n"; }

  std::string calls;  ///< a line each
  bool has_lost = false;
};

}  // namespace

TEST_CASE(
    "a listener that has lost calls gets every namespace and every node again, and then the end of an operation") {
  Record record;
  const auto engine = engine_of(kSmall, {}, &record);
  const auto prompt = tokens(500, 9);
  RequestSpec salted = arrival(prompt);
  salted.space = engine->intern({.adapter = "adapter", .salt = "secret"});
  leave(*engine, tokens(100, 9));
  Request request = engine->begin(salted);
  REQUIRE(request.reserve(9));
  request.finish(9);
  record.calls.clear();
  record.has_lost = true;
  engine->begin(salted).abort();
  CHECK(record.calls ==
        "turn\nresync\nspace 0 salt  adapter \nspace 1 salt adapter:adapter/secret adapter adapter\n"
        "added to 0: 8 words from 100 on\nadded to 1: 8 words from 500 on\nturn\nturn\n");
}
