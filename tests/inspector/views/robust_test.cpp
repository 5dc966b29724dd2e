/// Pictures of recordings that are damaged, and of an engine that runs in another thread meanwhile.
#include <demo/live_demo.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "feed_script.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

struct Chance {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % n;
  }
};

/// A file like those that FeedSink writes, of a script that grows, is locked and has requests.
std::string recorded() {
  FeedScript script(2000);
  std::vector<Event> events;
  const auto commit = [&] {
    const auto some = script.commit();
    events.insert(events.end(), some.begin(), some.end());
  };
  std::uint64_t node = script.add(0, 4);
  commit();
  for (std::uint32_t i = 0; i < 40; ++i) {
    node = script.add(i % 5 == 0 ? 0 : node, 1 + i % 7, 0, i, i);
    if (i % 6 == 0) script.lock(node);
    if (i % 4 == 0) script.begin_request(i + 1, 64, 16, 2);
    if (i % 8 == 4) script.end_request(i - 3);
    commit();
    if (i % 5 != 3) continue;
    script.remove(std::exchange(node, 0));
    commit();
  }
  std::string bytes(FeedHeader::kBytes, '\0');
  FeedHeader header{};
  header.event_bytes = sizeof(Event);
  header.page_size = script.header().page_size, header.groups = script.header().groups;
  header.reaches[0] = kWholePath;
  header.begin();
  std::copy_n(reinterpret_cast<const char*>(&header), sizeof(header), bytes.begin());
  bytes.append(reinterpret_cast<const char*>(events.data()), events.size() * sizeof(Event));
  return bytes;
}

/// A bit, a word that becomes the least or the most there is, or an event that stands where another was.
void damage(std::string& bytes, Chance& chance) {
  const std::size_t events = (bytes.size() - FeedHeader::kBytes) / sizeof(Event);
  const auto event = [&] { return FeedHeader::kBytes + chance.below(events) * sizeof(Event); };
  const std::uint64_t kind = chance.below(4);
  if (kind == 0) {
    bytes[chance.below(160)] ^= static_cast<char>(1 << chance.below(8));  // bytes of the header
    return;
  }
  const std::size_t at = event();
  if (kind == 1) {
    constexpr std::uint32_t kExtremes[] = {0, 1, 0x7fffffff, 0xffffffff};
    const std::size_t word = chance.below(sizeof(Event) / 4);
    std::memcpy(&bytes[at + 4 * word], &kExtremes[chance.below(4)], 4);
  } else if (kind == 2) {
    std::memmove(&bytes[at], &bytes[event()], sizeof(Event));
  } else {
    const std::size_t byte = chance.below(sizeof(Event));
    bytes[at + byte] ^= static_cast<char>(1 << chance.below(8));
  }
}

}  // namespace

TEST_CASE("recordings that are damaged anywhere are drawn as far as they make sense, or refused with a sentence") {
  const std::string whole = recorded();
  const auto path = std::filesystem::temp_directory_path() / ("canopy-damaged-" + std::to_string(::getpid()));
  Headless screen;
  Chance chance{9};
  int drawn = 0, refused = 0;
  for (int run = 0; run < 250; ++run) {
    CAPTURE(run);
    std::string bytes = whole;
    for (std::uint64_t change = run == 0 ? 0 : 1 + chance.below(6); change > 0; --change) damage(bytes, chance);
    if (run % 5 == 4) bytes.resize(chance.below(bytes.size()));
    std::ofstream(path, std::ios::binary) << bytes;
    auto recording = Recording::open(path);
    if (!recording) {
      CHECK(recording.error().text.starts_with(path.string() + ": "));
      ++refused;
      continue;
    }
    App app(link_to(std::move(*recording), "damaged"), Settings{});
    for (int frame = 0; frame < 3; ++frame) {
      while (!app.pump(std::chrono::milliseconds(50))) continue;
      screen.frame(app);
      // Every node is selected once.
      app.mirror().each_node([&](const MirrorNode& node) { app.selection().select_node(node.id); });
    }
    if (run == 0) CHECK(app.mirror().drift() == 0);
    ++drawn;
  }
  CHECK(drawn > 100);
  CHECK(refused > 10);
  std::filesystem::remove(path);
}

TEST_CASE("shares of a pool that no bar has room for do not cost more to draw than others") {
  Headless screen;
  const auto vertices = [&](const event::Totals& totals) {
    FeedScript script;
    script.say(TextKind::no_nodes, 0, "sums alone");  // so that the bar shows the engine's sums
    std::vector<Event> events = script.commit();
    events.insert(events.end() - 1, std::bit_cast<Event>(totals));
    App app(std::make_unique<ScriptLink>(script, events), Settings{});
    while (!app.pump(std::chrono::milliseconds(50))) continue;
    screen.frame(app);
    return screen.vertices();
  };
  const int usual = vertices({.free = 50, .protected_ = std::uint64_t{50} * 16});
  // In 64 bits the sum of these is 99, and each is 10^16 times as much.
  constexpr std::uint64_t kProtected = ~std::uint64_t{0} / 16;
  CHECK(vertices({.free = 99 - kProtected, .protected_ = kProtected * 16}) < usual + 1000);
  CHECK(vertices({.evictable = (99 - kProtected) * 16, .protected_ = kProtected * 16}) < usual + 1000);
}

TEST_CASE("a recording goes back to its first commit and no further, and shows panels there") {
  const auto path = std::filesystem::temp_directory_path() / ("canopy-begins-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << recorded();
  auto recording = Recording::open(path);
  REQUIRE(recording);
  App app(link_to(std::move(*recording), "whole"), Settings{});
  Headless screen;
  const auto turn = [&] {
    while (!app.pump(std::chrono::milliseconds(50))) continue;
    screen.frame(app);
  };
  turn();
  const std::uint64_t end = app.time().at;
  REQUIRE(end > 2);
  for (const ImGuiKey key : {ImGuiKey_Home, ImGuiKey_LeftArrow}) {
    screen.press(app, key);
    turn();
    CHECK(app.time().at == 1);
    CHECK(app.mirror().in_step());
    CHECK(notice_of(app.session(), app.mirror()).what.empty());
  }
  screen.press(app, ImGuiKey_RightArrow);
  turn();
  CHECK(app.time().at == 2);
  screen.press(app, ImGuiKey_End);
  turn();
  CHECK(app.time().at == end);
  std::filesystem::remove(path);
}

TEST_CASE("the demo engine runs in its thread while its events are drawn, and takes commands meanwhile") {
  auto demo = demo::LiveDemo::make();
  REQUIRE_MESSAGE(demo, (demo ? "" : demo.error().text));
  Headless screen;
  {
    App app(link_to((*demo)->header(), "demo"), Settings{});
    (*demo)->start(false);
    for (std::uint64_t requests = 10; requests <= 100; requests += 10) {
      (*demo)->run_to(requests);
      if (requests == 50) app.mailbox().send(Command::Kind::evict, 20);
      while (!app.pump(std::chrono::milliseconds(50))) continue;
      screen.frame(app);
      CHECK(app.mirror().drift() == 0);
    }
    CHECK(app.mirror().requests().size() >= 90);
    CHECK(app.mirror().node_count() > 50);
    // Drawn while it writes, and left in the middle of it.
    std::jthread runner([&] { (*demo)->run_to(300); });
    for (int frame = 0; frame < 30; ++frame) {
      app.pump(std::chrono::milliseconds(5));
      screen.frame(app);
    }
    runner.join();
    CHECK(app.mirror().in_step());
  }
}
