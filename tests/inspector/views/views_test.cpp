#include <doctest/doctest.h>
#include <figures.h>
#include <icicle.h>
#include <layout.h>
#include <settings.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("numbers are grouped, rounded and carry units") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(1204331) == "1,204,331");
  CHECK(brief(812) == "812");
  CHECK(brief(999.7) == "1.0 k");
  CHECK(brief(41234) == "41.2 k");
  CHECK(percent(362, 1000) == "36.2 %");
  CHECK(percent(0, 0) == "-");
  CHECK(duration(2.1) == "2.1 us");
  CHECK(duration(200e6) == "3 min 20 s");
  CHECK(node_name(std::uint64_t{1} << 32 | 12) == "#12");
  CHECK(node_name(std::uint64_t{5} << 32 | 12) == "#12.3");
  std::uint32_t slot = 0, life = 0;
  CHECK(parse_node_name("#12.3", slot, life));
  CHECK((slot == 12 && life == 3));
  CHECK(parse_node_name("7", slot, life));
  CHECK((slot == 7 && life == 0));
  for (const char* wrong : {"", "#", "x", "12x", "12.", "12.0", "-1"}) CHECK_FALSE(parse_node_name(wrong, slot, life));
}

TEST_CASE("the index adds up what hangs on a node, and puts children under their parent") {
  Show show;
  const auto root = show.world.add(0, 2);
  const auto left = show.world.add(root, 3), right = show.world.add(root, 5);
  const auto leaf = show.world.add(left, 7);
  const auto other = show.world.add(0, 1, 1);
  show.world.lock(leaf, 2);
  show.world.lock(left);
  show.look();
  CHECK(show.mirror.drift() == 0);
  CHECK(show.index.levels() == 4);
  CHECK(show.index.tokens() == 18 * 16);
  CHECK(show.at(root).tokens == 17 * 16);
  CHECK(show.at(root).nodes == 4);
  CHECK(show.at(left).tokens == 10 * 16);
  CHECK(show.at(right).start == show.at(left).end());
  CHECK(show.at(leaf).start == show.at(left).start);
  CHECK(show.at(other).start == 17 * 16);
  CHECK(show.at(leaf).locks == 2);
  CHECK(show.at(left).locks == 3);
  CHECK(show.at(root).locks == 3);
  CHECK(show.at(right).locks == 0);
  for (const auto id : {root, left, right, leaf})
    CHECK(show.at(id).locks == show.mirror.locks(*show.mirror.find(id), 0));
  CHECK(show.at(right).state == NodeState::evictable);
  CHECK(show.at(root).state == NodeState::protected_);
  const auto mix = show.index.mix(show.index.place_of(slot_of(NodeId{left})), 2);
  CHECK(mix.protected_ == 3 * 16);
  CHECK(mix.evictable == 5 * 16);
  CHECK(mix.nodes == 3);
}

TEST_CASE("a folded node hides what hangs on it and keeps its width") {
  Show show;
  const auto root = show.world.add(0, 2), left = show.world.add(root, 3), leaf = show.world.add(left, 7);
  const auto right = show.world.add(root, 1), below_right = show.world.add(right, 1);
  show.look({left});
  CHECK(show.at(left).folded);
  CHECK(show.at(left).tokens == 10 * 16);
  CHECK(show.index.place_of(slot_of(NodeId{leaf})) == TreeIndex::kNowhere);
  CHECK(show.at(below_right).start == show.at(right).start);
  CHECK(show.index.update(show.mirror, 0, {}));
  CHECK(show.at(leaf).start == show.at(left).start);
  CHECK_FALSE(show.index.update(show.mirror, 0, {}));
}

TEST_CASE("a chain of only children is one place, until a lock ends in it, and its depth costs no stack") {
  Show show(400'000);
  std::uint64_t last = 0, middle = 0, first = 0;
  for (int i = 0; i < 300'000; ++i) {
    last = show.world.add(last, 1);
    if (i == 0) first = last;
    if (i == 99'999) middle = last;
  }
  show.look();
  CHECK(show.index.levels() == 2);
  CHECK(show.at(middle).chain == 300'000);
  CHECK(show.at(last).slot == slot_of(NodeId{first}));
  show.world.lock(last);
  show.world.lock(middle, 2);
  show.look();
  CHECK(show.index.levels() == 3);
  CHECK(show.at(first).chain == 100'000);
  CHECK(show.at(middle).locks == 3);
  CHECK(show.at(last).locks == 1);
  CHECK(show.at(last).nodes == 200'000);
  show.look({first});
  CHECK(show.at(first).chain == 1);
  CHECK(show.at(first).folded);
  CHECK(show.index.place_of(slot_of(NodeId{middle})) == TreeIndex::kNowhere);
}

TEST_CASE("a comb of 100,000 levels is indexed without recursion") {
  Show show(400'000);
  std::uint64_t last = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (last != 0) show.world.add(last, 1);
    last = show.world.add(last, 1);
  }
  show.look();
  CHECK(show.index.levels() == 100'001);
  CHECK(show.index.level_of(show.index.place_of(slot_of(NodeId{last}))) == 100'000);
}

TEST_CASE("rectangles of a row touch no other, stand for every node once, and are no more than the pixels allow") {
  for (const std::size_t nodes : {std::size_t{1000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
    Show show(2 * nodes + 200);
    grow(show.world, nodes);
    const double take = seconds_of([&] { show.mirror.take(show.world.commit()); });
    const double index = seconds_of([&] { show.index.update(show.mirror, 0, {}); });
    std::vector<IcicleCell> cells;
    const IcicleWindow all{0, static_cast<double>(show.index.tokens()), 1000, 0, 16};
    const double layout = seconds_of([&] { lay_out(show.index, all, cells); });
    std::printf("%zu nodes: mirror %.1f ms, index %.1f ms, layout %.2f ms, %zu rectangles\n", nodes, take * 1e3,
                index * 1e3, layout * 1e3, cells.size());
    CHECK(show.mirror.drift() == 0);
    CHECK(cells.size() <= 4 * 1000 / static_cast<std::size_t>(kLeastNode));
    std::size_t shown = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      shown += cells[i].count;
      REQUIRE(cells[i].x1 > cells[i].x0);
      if (i > 0 && cells[i].row == cells[i - 1].row) {
        REQUIRE(cells[i].first == cells[i - 1].first + cells[i - 1].count);
        REQUIRE(cells[i].x0 >= cells[i - 1].x1 - 1.01F);
      }
    }
    CHECK(shown == nodes + 1);  // and the namespace
    // What is at a pixel is what the bisection says.
    for (const IcicleCell& cell : cells)
      if (cell.x1 - cell.x0 > 2) {
        const IcicleCell* found = cell_at(cells, (cell.x0 + cell.x1) / 2, cell.row);
        REQUIRE(found != nullptr);
        REQUIRE(found->first == cell.first);
      }
    CHECK(cell_at(cells, 5, 99) == nullptr);
  }
}

TEST_CASE("zoomed in, only what is in sight is laid out") {
  Show show(40'000);
  grow(show.world, 10'000);
  show.look();
  std::vector<IcicleCell> cells;
  lay_out(show.index, {100, 420, 1000, 2, 8}, cells);
  REQUIRE_FALSE(cells.empty());
  for (const IcicleCell& cell : cells) {
    CHECK(show.index[cell.first].end() > 100);
    CHECK(show.index[cell.first].start < 420);
    CHECK(show.index.level_of(cell.first) >= 2);
  }
}

TEST_CASE("the pool's map counts what the mirror counts, page by page") {
  Show show(500);
  const auto root = show.world.add(0, 20), leaf = show.world.add(root, 30);
  show.world.add(root, 40);
  show.world.lock(leaf);
  show.world.begin_request(9, 1000, 16, 25);
  show.look();
  CHECK(show.mirror.drift() == 0);
  for (const std::size_t most : {1000U, 100U, 7U}) {
    const auto map = PoolPanel::map(show.mirror.pool(0), show.index, most, slot_of(NodeId{leaf}), 0);
    std::array<std::uint64_t, 5> sums{};
    std::uint64_t pages = 0;
    for (const auto& cell : map.cells) {
      pages += cell.pages;
      for (std::size_t i = 0; i < 5; ++i) sums[i] += cell.by_owner[i];
    }
    const MirrorPool::Sums& told = show.mirror.pool(0).counted;
    CHECK(map.cells.size() <= most);
    CHECK(pages == show.mirror.pool(0).pages);
    CHECK(sums[0] == map.free);
    CHECK(sums[0] == told.free);
    CHECK(sums[1] == told.evictable);
    CHECK(sums[2] == told.protected_);
    CHECK(sums[4] == told.held);
    if (map.pages_per_cell == 1) {
      std::uint64_t selected = 0;
      for (const auto& cell : map.cells) selected += cell.selected;
      CHECK(selected == 30);
    }
  }
}

TEST_CASE("columns over time end with now, and say hits and evictions since the one before") {
  std::vector<Sample> samples(100);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].commit = i + 1;
    samples[i].prompt_tokens = i * 10;
    samples[i].hit_tokens = i * 4;
    samples[i].evicted_tokens = i * 3;
    samples[i].pools[0].free = 100 - i;
  }
  const auto columns = SizesPanel::columns(samples, 0, 20);
  REQUIRE(columns.size() == 20);
  CHECK(columns.back().commit == 100);
  CHECK(columns.back().pages.free == 1);
  CHECK(columns[0].hit_share < 0);
  CHECK(columns[7].hit_share == doctest::Approx(0.4));
  CHECK(columns[7].evicted == doctest::Approx(15));
  CHECK(SizesPanel::columns(samples, 0, 1000).size() == 100);
  CHECK(SizesPanel::columns({}, 0, 20).empty());
}

TEST_CASE("ranks are words a person can check") {
  CHECK(LeavePanel::rank_words("lru", {0, 90}, 100) == "used 10 ticks ago");
  CHECK(LeavePanel::rank_words("mru", {0, ~std::uint64_t{90}}, 100) == "used 10 ticks ago");
  CHECK(LeavePanel::rank_words("lfu", {3, 90}, 100) == "3 hits, used 10 ticks ago");
  CHECK(LeavePanel::rank_words("priority", {std::uint64_t{1} << 31, 90}, 100) == "priority 0, used 10 ticks ago");
  CHECK(LeavePanel::rank_words("mine", {0, 1234}, 0) == "1,234");
  CHECK(LeavePanel::rank_words("mine", {5, 1234}, 0) == "5 / 1,234");
}

TEST_CASE("a line of the log is a sentence") {
  LogLine line;
  line.operation = Operation::evict;
  line.removed = 2;
  line.tokens = 2048;
  line.node = std::uint64_t{1} << 32 | 77;
  CHECK(sentence_of(line) == "evict, 2 nodes left, 2,048 tokens #77");
}

TEST_CASE("panels share a window without overlap, from 1280 x 720 to 4K at twice the size") {
  for (const auto& [width, height, em] : {std::tuple(1280, 720, 14),
                                          {1600, 900, 14},
                                          {3840, 2160, 28},
                                          {3840, 2160, 14},
                                          {1280, 720, 11},
                                          {2560, 1080, 14}}) {
    const auto w = static_cast<float>(width), h = static_cast<float>(height);
    const auto all = lay_out_panels(w, h, static_cast<float>(em)).all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].x >= 0);
      CHECK(all[i].y >= 0);
      CHECK(all[i].to().x <= w);
      CHECK(all[i].to().y <= h);
      CHECK(all[i].width > static_cast<float>(em) * 20);
      CHECK(all[i].height >= static_cast<float>(em) * 2);
      for (std::size_t k = 0; k < i; ++k) {
        const bool apart = all[i].x >= all[k].to().x || all[k].x >= all[i].to().x || all[i].y >= all[k].to().y ||
                           all[k].y >= all[i].to().y;
        CHECK_MESSAGE(apart, i, " and ", k);
      }
    }
  }
}

TEST_CASE("whatever cannot be shown is a sentence with the next thing to do") {
  World world;
  Mirror mirror(world.header());
  Session session;
  CHECK(notice_of(session, mirror).what.find("waiting for the engine") != std::string::npos);
  session.state = Session::State::recording;
  CHECK(notice_of(session, mirror).what.find("damaged") != std::string::npos);
  session.state = Session::State::gone;
  session.detail = "process 601, which wrote the feed, has gone";
  CHECK(notice_of(session, mirror).what == session.detail);
  CHECK_FALSE(notice_of(session, mirror).next.empty());
  mirror.take(world.commit());
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
  CHECK(settings.save(path));
  const Settings again = Settings::load(path);
  CHECK(again.light);
  CHECK(again.scale == doctest::Approx(1.5));
  CHECK(again.colour == ColourBy::hits);
  CHECK(again.tree == TreeView::nodes);
  CHECK(again.width == 2000);
  std::ofstream(path) << "width = many\n\x01\nscale_percent = 999999\ntheme";
  CHECK(Settings::load(path).width == Settings{}.width);
  CHECK(Settings::load(path).scale == doctest::Approx(4));
  CHECK_FALSE(Settings::load((folder / "none").string()).light);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a click selects the node under it, in the tree and in every other panel") {
  World world;
  const auto root = world.add(0, 10), left = world.add(root, 30), right = world.add(root, 60);
  auto link = std::make_unique<WorldLink>(world, world.commit());
  App app(std::move(link), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  screen.frame(app);
  screen.frame(app);
  for (const auto id : {right, left, root}) {
    ImVec2 at;
    REQUIRE(app.tree_panel().middle_of(app.tree(), id, at));
    screen.click(app, at);
    CHECK(app.selection().node == id);
  }
  screen.key(app, 'c');
  CHECK(app.selection().colour == ColourBy::recency);
  screen.key(app, '?');
  CHECK(app.selection().help);
}

TEST_CASE("space pauses an engine that takes controls, and holds the picture of one that does not") {
  World world;
  world.add(0, 10);
  const std::vector<Event> events = world.commit();
  for (const bool controls : {true, false}) {
    world.header().controls = controls;
    auto made = std::make_unique<WorldLink>(world, events);
    WorldLink& link = *made;
    App app(std::move(made), Settings{});
    Headless screen;
    app.pump(std::chrono::milliseconds(10));
    screen.frame(app);
    screen.key(app, ' ');
    app.pump(std::chrono::milliseconds(10));
    if (controls) {
      REQUIRE(link.sent.size() == 1);
      CHECK(link.sent[0].kind == Command::Kind::pause);
      CHECK(app.mailbox().paused);
      screen.key(app, ' ');
      app.pump(std::chrono::milliseconds(10));
      CHECK(link.sent.back().kind == Command::Kind::go_on);
    } else {
      CHECK(link.sent.empty());
      CHECK(app.session().state == Session::State::held);
    }
  }
}

TEST_CASE("a node is pinned by key and by click, and keys let the engine go on until something happens") {
  World world;
  const auto root = world.add(0, 10), leaf = world.add(root, 20);
  auto made = std::make_unique<WorldLink>(world, world.commit());
  WorldLink& link = *made;
  App app(std::move(made), Settings{});
  Headless screen;
  const auto turn = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.frame(app);
  };
  turn();
  screen.key(app, 'p');  // nothing is selected
  turn();
  CHECK(link.sent.empty());
  app.selection().select_node(leaf);
  screen.key(app, 'p');
  turn();
  REQUIRE(link.sent.size() == 1);
  CHECK(link.sent[0].kind == Command::Kind::pin);
  CHECK(link.sent[0].amount == leaf);
  world.pin(leaf, true);
  link.bring(world.commit(Operation::control));
  turn();
  CHECK(app.mirror().pins().contains(leaf));
  screen.key(app, 'p');
  turn();
  REQUIRE(link.sent.size() == 2);
  CHECK(link.sent[1].kind == Command::Kind::unpin);

  app.mailbox().paused = true;
  screen.key(app, 'e');
  turn();
  CHECK(link.sent.back().kind == Command::Kind::run_until);
  CHECK(link.sent.back().until == Condition::evicted);
  CHECK_FALSE(app.mailbox().paused);
  screen.key(app, 'w');
  turn();
  CHECK(link.sent.back().until == Condition::missed);
  CHECK(link.sent.back().amount == kAnySpace);
  // It pauses by itself, and is let go on by the next space.
  world.say(TextKind::paused, 0, "request 5 missed");
  link.bring(world.commit());
  turn();
  CHECK(app.mailbox().paused);
  screen.key(app, ' ');
  turn();
  CHECK(link.sent.back().kind == Command::Kind::go_on);
  CHECK_FALSE(app.mailbox().paused);

  // Every button and number of the tab, where it is drawn.
  screen.key(app, '2');
  turn();
  for (const auto& [what, until] : {std::pair("an eviction", Condition::evicted),
                                    {"request", Condition::request},
                                    {"hit rate <", Condition::hit_rate},
                                    {"free <", Condition::free}}) {
    CAPTURE(what);
    ImVec2 at;
    REQUIRE(app.controls_tab().middle_of(what, at));
    screen.click(app, at);
    turn();
    CHECK(link.sent.back().kind == Command::Kind::run_until);
    CHECK(link.sent.back().until == until);
  }
  CHECK(link.sent.back().amount == 64);
  ImVec2 at;
  REQUIRE(app.controls_tab().middle_of("unpin " + node_name(leaf), at));
  screen.click(app, at);
  turn();
  CHECK(link.sent.back().kind == Command::Kind::unpin);
  CHECK(link.sent.back().amount == leaf);
  for (const auto& [what, tokens] : {std::pair("a quarter less", 3), {"a quarter more", 5}, {"set to", 5}}) {
    CAPTURE(what);
    REQUIRE(app.controls_tab().middle_of(what, at));
    screen.click(app, at);
    turn();
    CHECK(link.sent.back().kind == Command::Kind::resize);
    const MirrorPool& pool = app.mirror().pool(0);
    CHECK(link.sent.back().amount == pool.limit * app.mirror().page_size() / 4 * static_cast<std::uint64_t>(tokens));
  }

  // Where controls are not allowed nothing is sent.
  app.mailbox().open = false;
  const std::size_t sent = link.sent.size();
  for (const char key : {'p', 'e', 'w', ' '}) screen.key(app, key);
  turn();
  CHECK(link.sent.size() == sent);
}

TEST_CASE("missed tokens are grouped by reason, and a click on one lists its requests") {
  World world;
  world.name_space(0, "acme");
  world.name_space(1, "other");
  const auto first = world.add(0, 4);
  world.begin_request(1, 100, 0);
  world.end_request(1);
  world.begin_request(2, 65, 64);  // all it could find
  world.begin_request(3, 200, 64, 0, 1);
  App app(std::make_unique<WorldLink>(world, world.commit()), Settings{});
  Headless screen;
  const auto turn = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.frame(app);
    screen.frame(app);
  };
  turn();
  const RequestsPanel& panel = app.requests_panel();
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
  REQUIRE(panel.middle_of(Miss::rounding, at));
  screen.click(app, at);
  turn();
  REQUIRE(panel.rows().size() == 1);
  CHECK(app.mirror().requests()[panel.rows()[0]].id == 2);
  REQUIRE(panel.middle_of(Miss::rounding, at));
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

TEST_CASE("a node that everybody uses has a short history") {
  World world;
  const auto node = world.add(0, 10);
  std::vector<Event> events = world.commit();
  for (int i = 0; i < 3000; ++i) {
    world.touch(node);
    const auto more = world.commit();
    events.insert(events.end(), more.begin(), more.end());
  }
  App app(std::make_unique<WorldLink>(world, events), Settings{});
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
    World world(2 * nodes + 500);
    world.say(TextKind::plugin, 0, "canopy.EvictionStrategy/1\tlru\tleast recently used\teviction.so 1.0.0");
    world.say(TextKind::refusal, 0, "/tmp/x.so\tit has no symbol");
    world.say(TextKind::config, 0, "page_size: 16\n");
    if (nodes != 0) world.lock(grow(world, nodes), 3);
    world.begin_request(1, 1000, 160, 20);
    App app(std::make_unique<WorldLink>(world, world.commit()), Settings{});
    Headless screen;
    const double take = seconds_of([&] { app.pump(std::chrono::milliseconds(10)); });
    const double first = seconds_of([&] { screen.frame(app); });
    for (const char tab : {'1', '2', '3', '4', '5', 'c', 'c', 'c', 'c', 't'}) {
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

TEST_CASE("lines break between words and never inside a number") {
  Headless screen;
  World world;
  App app(std::make_unique<WorldLink>(world, world.commit()), Settings{});
  screen.frame(app);
  const std::string words = "split 34,267 commits ago, locked 1,204,331 commits ago";
  for (float width = 40; width < 500; width += 7) {
    const std::string lines = in_lines(words, width);
    std::string joined = lines;
    std::replace(joined.begin(), joined.end(), '\n', ' ');
    CHECK(joined == words);
    std::istringstream each(lines);
    for (std::string line; std::getline(each, line);)
      CHECK((ImGui::CalcTextSize(line.c_str()).x <= width || line.find(' ') == std::string::npos));
  }
  CHECK(in_lines(words, 10'000) == words);
  CHECK(in_lines("a\n\nb", 10'000) == "a\n\nb");
  CHECK(in_lines("", 10).empty());
}

TEST_CASE("the number of the next request to stop at has not begun yet, whatever is known") {
  World world;
  auto made = std::make_unique<WorldLink>(world, world.commit());
  WorldLink& link = *made;
  App app(std::move(made), Settings{});
  Headless screen;
  const auto asked = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.key(app, '2');
    screen.frame(app);
    ImVec2 at;
    REQUIRE(app.controls_tab().middle_of("request", at));
    screen.click(app, at);
    app.pump(std::chrono::milliseconds(10));
    return link.sent.back().amount;
  };
  CHECK(asked() == 100);
  world.begin_request(340, 100, 0);
  link.bring(world.commit());
  CHECK(asked() == 400);
}

TEST_CASE("controls that have no room are named, and nothing is where they fit") {
  for (const float height : {720.F, 2000.F}) {
    World world;
    world.add(0, 10);
    App app(std::make_unique<WorldLink>(world, world.commit()), Settings{});
    Headless screen(1280, height);
    app.pump(std::chrono::milliseconds(10));
    for (int i = 0; i < 3; ++i) screen.key(app, '2');
    CAPTURE(height);
    CHECK(app.controls_tab().above().empty());
    if (height > 1000) CHECK(app.controls_tab().below().empty());
    else CHECK(app.controls_tab().below().ends_with("flush"));
  }
}
