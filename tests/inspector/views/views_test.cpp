#include <doctest/doctest.h>
#include <mirror/names.h>
#include <views/pool_map.h>
#include <views/requests_panel.h>
#include <window/settings_file.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("the pool's map counts what the mirror counts, page by page") {
  Show show(500);
  const auto root = show.script.add(0, 20), leaf = show.script.add(root, 30);
  show.script.add(root, 40);
  show.script.lock(leaf);
  show.script.begin_request(9, 1000, 16, 25);
  show.look();
  CHECK(show.mirror.drift() == 0);
  for (const std::size_t most : {1000U, 100U, 7U}) {
    PoolMap map;
    map.update(show.mirror, show.index, 0, most);
    std::array<std::uint64_t, PoolMap::kOwners> sums{};
    std::uint64_t pages = 0;
    for (const auto& cell : map.cells()) {
      pages += cell.pages;
      for (std::size_t i = 0; i < PoolMap::kOwners; ++i) sums[i] += cell.by_owner[i];
    }
    const MirrorPool::Sums& pool = show.mirror.pool(0).counted;
    CHECK(map.cells().size() <= most);
    CHECK(pages == show.mirror.pool(0).pages);
    CHECK(sums[0] == map.free());
    CHECK(sums[0] == pool.free);
    CHECK(sums[1] == pool.evictable);
    CHECK(sums[2] == pool.protected_);
    CHECK(sums[3] == pool.owned);
  }
}

TEST_CASE("the pool's map follows what changed, equals a new one, and counts no other cells") {
  Show show(200'000);
  std::vector<std::uint64_t> leaves;
  for (int i = 0; i < 3000; ++i) leaves.push_back(show.script.add(0, 1 + static_cast<std::uint32_t>(i % 5)));
  show.look();
  PoolMap followed;
  followed.update(show.mirror, show.index, 0, 4000);
  CHECK(followed.counted() == followed.cells().size());
  std::uint64_t seed = 7;
  const auto below = [&](std::size_t n) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(seed >> 33) % n;
  };
  for (int step = 0; step < 200; ++step) {
    CAPTURE(step);
    const std::uint64_t before = followed.counted();
    const std::size_t at = below(leaves.size());
    switch (step % 4) {
      case 0:
        show.script.remove(leaves[at]);
        leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        leaves.push_back(show.script.add(0, 3));
        break;
      case 2:
        show.script.lock(leaves[at]);
        break;
      default:
        show.script.begin_request(static_cast<std::uint64_t>(step), 100, 0, 2);
    }
    show.look();
    followed.update(show.mirror, show.index, 0, 4000);
    CHECK(followed.counted() - before <= 4);
    PoolMap anew;
    anew.update(show.mirror, show.index, 0, 4000);
    REQUIRE(anew.cells().size() == followed.cells().size());
    bool same = anew.free() == followed.free() && anew.free_runs() == followed.free_runs() &&
                anew.longest_run() == followed.longest_run();
    for (std::size_t i = 0; i < anew.cells().size(); ++i)
      same &= anew.cells()[i].by_owner == followed.cells()[i].by_owner &&
              anew.cells()[i].sample == followed.cells()[i].sample;
    CHECK(same);
  }
  // Another moment before, another feed, and more changes than are kept: made again.
  const Mirror then = show.mirror;
  show.script.remove(leaves.back()), leaves.pop_back();
  show.look();
  followed.update(show.mirror, show.index, 0, 4000);
  std::uint64_t before = followed.counted();
  followed.update(then, show.index, 0, 4000);
  CHECK(followed.counted() - before == followed.cells().size());
  before = followed.counted();
  followed.update(then, show.index, 0, 4000, 1);
  CHECK(followed.counted() - before == followed.cells().size());
  for (std::size_t i = 0; i <= MirrorPool::Changes::kMost; ++i) show.script.add(0, 1);
  show.look();
  before = followed.counted();
  followed.update(show.mirror, show.index, 0, 4000, 1);
  CHECK(followed.counted() - before == followed.cells().size());
}

TEST_CASE("whatever cannot be shown is a sentence with the next thing to do") {
  FeedScript script;
  Mirror mirror(script.header());
  Session session;
  CHECK(notice_of(session, mirror).what.find("waiting for the engine") != std::string::npos);
  session.state = Session::State::recording;
  CHECK(notice_of(session, mirror).what.find("damaged") != std::string::npos);
  session.state = Session::State::gone;
  session.detail = "process 601, which wrote the feed, has gone";
  CHECK(notice_of(session, mirror).what == session.detail);
  CHECK(notice_of(session, mirror).next.find("Start the engine again") != std::string::npos);
  session.server_gone = true;  // the engine may still run
  CHECK(notice_of(session, mirror).next.find("engine") == std::string::npos);
  session.server_gone = false;
  mirror.take(script.commit());
  CHECK(notice_of(session, mirror).what.empty());  // the last picture stays
  session.state = Session::State::live;
  CHECK(notice_of(session, mirror).what.empty());
  mirror.lost();
  CHECK(notice_of(session, mirror).what.find("some were lost") != std::string::npos);
}

TEST_CASE("theme, scale, colour, view and size are remembered, and nonsense in the file is passed over") {
  const auto folder = std::filesystem::temp_directory_path() / "canopy-inspector-settings";
  std::filesystem::remove_all(folder);
  const std::string path = (folder / "canopy" / "inspector.ini").string();
  Settings settings;
  settings.light = true, settings.scale = 1.5F, settings.colour = ColourBy::hits, settings.width = 2000;
  settings.tree = TreeView::nodes;
  settings.shares = {{"TREE", 71.25F}, {"bottom", 9}};
  CHECK(save_settings(path, settings));
  const Settings again = load_settings(path);
  CHECK(again.light);
  CHECK(again.scale == doctest::Approx(1.5));
  CHECK(again.colour == ColourBy::hits);
  CHECK(again.tree == TreeView::nodes);
  CHECK(again.width == 2000);
  CHECK(again == settings);
  std::ofstream(path) << "width = many\n\x01\nscale_percent = 999999\nshare TREE = -3\nshare POOL = lots\ntheme";
  CHECK(load_settings(path).shares.empty());
  CHECK(load_settings(path).width == Settings{}.width);
  CHECK(load_settings(path).scale == doctest::Approx(4));
  CHECK_FALSE(load_settings((folder / "none").string()).light);
  std::filesystem::remove_all(folder);
}

TEST_CASE("missed tokens are grouped by reason, and a click on one lists its requests") {
  FeedScript script;
  script.name_space(0, "acme");
  script.name_space(1, "other");
  const auto first = script.add(0, 4);
  script.begin_request(1, 100, 0);
  script.end_request(1);
  script.begin_request(2, 65, 64);  // all it could find
  script.begin_request(3, 200, 64, 0, 1);
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
  Headless screen;
  const auto turn = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.frame(app);
    screen.frame(app);
  };
  turn();
  const RequestsPanel& panel = app.panel<RequestsPanel>();
  const auto tokens_of = [&](Miss miss) {
    for (const MissGroup& group : panel.groups())
      if (group.miss == miss) return group.tokens;
    return std::uint64_t{0};
  };
  CHECK(panel.rows().size() == 3);
  CHECK(tokens_of(Miss::unknown) == 96 + (192 - 64));
  CHECK(tokens_of(Miss::rounding) == 4 + 1 + 8);
  std::uint64_t all = 0, missed = 0;
  for (const MissGroup& group : panel.groups()) all += group.tokens;
  for (const MirrorRequest& request : app.mirror().requests()) missed += request.prompt - request.matched;
  CHECK(all == missed);

  ImVec2 at;
  REQUIRE(panel.middle_of(Miss::unknown, at));
  screen.click(app, at);
  turn();
  CHECK(panel.rows() == std::vector<std::uint64_t>{3, 1});
  REQUIRE(panel.middle_of(Miss::unknown, at));
  screen.click(app, at);
  turn();
  CHECK(panel.rows().size() == 3);

  const auto acme = app.mirror().misses(NamespaceId{0});
  CHECK(std::none_of(acme.begin(), acme.end(), [](const MissGroup& group) { return group.tokens > 96; }));

  // By number, from the keyboard.
  app.selection().select_node(first);
  screen.key(app, '/');
  screen.frame(app);
  for (const char each : std::string("r 3")) screen.key(app, each);
  ImGui::GetIO().KeysDown[ImGui::GetIO().KeyMap[ImGuiKey_Enter]] = true;
  screen.frame(app);
  ImGui::GetIO().KeysDown[ImGui::GetIO().KeyMap[ImGuiKey_Enter]] = false;
  screen.frame(app);
  CHECK(app.selection().request == 3);

  std::uint64_t number = 0;
  for (const char* right : {"r 4711", "r4711", "req 4711"})
    CHECK((parse_request_name(right, number) && number == 4711));
  for (const char* wrong : {"", "r", "r x", "4711", "root", "r 12 x"}) CHECK_FALSE(parse_request_name(wrong, number));
}

TEST_CASE("a node that every request uses has a short history") {
  FeedScript script;
  const auto node = script.add(0, 10);
  std::vector<Event> events = script.commit();
  for (int i = 0; i < 3000; ++i) {
    script.touch(node);
    const auto more = script.commit();
    events.insert(events.end(), more.begin(), more.end());
  }
  App app(std::make_unique<ScriptLink>(script, events), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  app.selection().select_node(node);
  screen.frame(app);
  screen.frame(app);
  CHECK(Headless::vertices() < 30'000);
}

TEST_CASE("every panel draws every state, and a picture of a million nodes costs no more than one of a thousand") {
  std::map<std::size_t, int> vertices, of_nodes;
  for (const std::size_t nodes : {std::size_t{0}, std::size_t{1000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
    FeedScript script(2 * nodes + 500);
    script.say(TextKind::plugin, 0, "canopy.EvictionStrategy/1\tlru\tleast recently used\teviction.so 1.0.0");
    script.say(TextKind::refusal, 0, "/tmp/x.so\tit has no symbol");
    script.say(TextKind::config, 0, "page_size: 16\n");
    if (nodes != 0) script.lock(grow(script, nodes), 3);
    script.begin_request(1, 1000, 160, 20);
    App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
    Headless screen;
    const double take = seconds_of([&] { app.pump(std::chrono::milliseconds(10)); });
    const double first = seconds_of([&] { screen.frame(app); });
    for (const char tab :
         {'1', '2', '8', '9', 'L', 'P', '3', '3', '4', '4', '5', '5', '0', '0', 'c', 'c', 'c', 'c', 't'}) {
      screen.key(app, tab);
      screen.frame(app);
    }
    const auto worst_frame = [&] {
      screen.frame(app);
      double worst = 0;
      for (int i = 0; i < 10; ++i) worst = std::max(worst, seconds_of([&] { screen.frame(app); }));
      return worst;
    };
    const double icicle = worst_frame();
    vertices[nodes] = Headless::vertices();
    screen.key(app, 'v');
    REQUIRE(app.tree_panel().view() == TreeView::nodes);
    const double links = worst_frame();
    of_nodes[nodes] = Headless::vertices();
    std::printf(
        "%zu nodes: events %.1f ms, first frame %.1f ms, then at most %.2f ms and %d vertices; as nodes and "
        "links %.2f ms and %d vertices\n",
        nodes, take * 1e3, first * 1e3, icicle * 1e3, vertices[nodes], links * 1e3, of_nodes[nodes]);
    CHECK(vertices[nodes] < 60'000);
    CHECK(of_nodes[nodes] < 60'000);
    // So much is gone through in a frame.
    CHECK(app.tree_panel().icicle().cells().size() < 1600 * 20);
    CHECK(app.tree_panel().nodes().items().size() < 200);
  }
  CHECK(vertices[1'000'000] < 2 * vertices[1000] + 10'000);
  CHECK(of_nodes[1'000'000] < 2 * of_nodes[1000] + 10'000);
}
