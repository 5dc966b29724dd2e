/// Tenants and locks: a table sorts and filters, and a click shows only one namespace everywhere.
#include <doctest/doctest.h>
#include <views/requests_panel.h>
#include <views/tenants_tab.h>

#include <map>
#include <string>
#include <vector>

#include "ink.h"
#include "recorded.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// Three tenants: many small requests, some large ones, one that is found.
void busy(Stage& shown) {
  shown.script.name_space(1, "many");
  shown.script.name_space(2, "large");
  shown.script.name_space(3, "found");
  shown.open();
  std::uint64_t id = 1;
  for (int i = 0; i < 6; ++i) {
    shown.script.begin_request(id++, 100, 0, 0, 1);
    shown.turn(Operation::begin);
  }
  shown.script.begin_request(id++, 5'000, 16, 0, 2);
  shown.turn(Operation::begin);
  shown.script.begin_request(id++, 1'000, 960, 0, 3);
  shown.turn(Operation::begin);
  shown.screen.key(*shown.app, '8');
  shown.draw();
}

std::vector<std::string> names(const TenantsTab& tab) {
  std::vector<std::string> all;
  for (const TenantFigures& row : tab.rows()) all.push_back(row.name);
  return all;
}

}  // namespace

TEST_CASE("tenants are sorted by any column, both ways, and filtered by a part of their name") {
  Stage shown;
  busy(shown);
  TenantsTab& tab = shown.app->panel<TenantsTab>();
  CHECK(names(tab) == std::vector<std::string>{"large", "found", "many"});  // prompt tokens
  const auto click_head = [&](const char* words) {
    const Ink ink;
    const Ink::Line* head = ink.find(words);
    REQUIRE(head);
    shown.screen.click(*shown.app, {(head->from.x + head->to.x) / 2, (head->from.y + head->to.y) / 2});
    shown.draw();
  };
  click_head("requests");
  shown.app->panel<TenantsTab>().order() = {"requests", true};
  shown.draw();
  CHECK(names(tab).front() == "many");
  tab.order() = {"hit", true};
  shown.draw();
  CHECK(names(tab).front() == "found");
  tab.order() = {"hit", false};
  shown.draw();
  CHECK(names(tab).back() == "found");
  tab.order() = {"tenant", false};
  shown.draw();
  CHECK(names(tab) == std::vector<std::string>{"found", "large", "many"});
}

TEST_CASE("a click on a tenant restricts every list and figure to it, and Esc shows all again") {
  Stage shown;
  busy(shown);
  const Ink ink;
  const Ink::Line* row = nullptr;
  for (const Ink::Line& line : ink.lines())
    if (line.text == "large" && line.from.x > 860) row = &line;
  REQUIRE(row);
  shown.screen.click(*shown.app, {row->from.x + 2, (row->from.y + row->to.y) / 2});
  shown.draw();
  REQUIRE(shown.app->selection().space);
  CHECK(*shown.app->selection().space == NamespaceId{2});
  CHECK(shown.app->scene().figures.whole().counts[Count::requests] == 1);
  CHECK(shown.app->scene().figures.whole().counts[Count::prompt] == 5'000);
  CHECK(shown.app->panel<RequestsPanel>().rows() == std::vector<std::uint64_t>{7});
  CHECK(shown.app->panel<TenantsTab>().rows().size() == 3);  // the table itself keeps all
  shown.screen.press(*shown.app, ImGuiKey_Escape);
  shown.draw();
  CHECK_FALSE(shown.app->selection().space);
  CHECK(shown.app->panel<RequestsPanel>().rows().size() == 8);
}

TEST_CASE("what a tenant has cached is of the moment that is shown, and heads say what their figures are of") {
  FeedScript script(10'000);
  script.name_space(1, "early");
  script.name_space(2, "late");
  std::vector<Event> events = script.commit();
  const auto more = [&](Operation operation) {
    const std::vector<Event> some = script.commit(operation);
    events.insert(events.end(), some.begin(), some.end());
  };
  const std::uint64_t early = script.add(0, 30, 1);
  script.add(0, 10, 2);
  more(Operation::insert);
  script.begin_request(1, 160, 80, 0, 1);
  more(Operation::begin);
  script.remove(early);
  more(Operation::evict);
  script.add(0, 50, 2);
  more(Operation::insert);
  const RecordedFile file(script, events, "tenants");
  auto recording = Recording::open(file.path());
  REQUIRE(recording);
  App app(link_to(std::move(*recording), file.path()), Settings{});
  Headless screen(1920, 1080);
  const auto cached_at = [&](std::uint64_t commit) {
    app.time().seek(commit);
    while (!app.pump(std::chrono::milliseconds(1000))) continue;
    for (int i = 0; i < 3; ++i) screen.frame(app);
    std::map<std::string, std::uint64_t> cached;
    for (const TenantFigures& row : app.panel<TenantsTab>().rows()) cached[row.name] = row.held;
    return cached;
  };
  screen.frame(app);
  screen.key(app, '8');
  CHECK(cached_at(5) == std::map<std::string, std::uint64_t>{{"early", 0}, {"late", 960}});
  CHECK(cached_at(3) == std::map<std::string, std::uint64_t>{{"early", 480}, {"late", 160}});
  CHECK(Ink().has("75.0 %"));  // its share
  CHECK(Ink().has("whole; cached: moment"));
  app.time().range = {3, 4};
  CHECK(cached_at(3) == std::map<std::string, std::uint64_t>{{"early", 480}, {"late", 160}});
  CHECK(Ink().has("range; cached: moment"));
  app.time().range = {};
  cached_at(3);
  for (const PanelInfo& info : panels())
    if (info.row != Row::tab && info.row != Row::page && !info.is_bar())
      CHECK_MESSAGE(Ink().has(std::string(figures_word(info.figures, app.scene()))), info.title);
  for (const PanelInfo& info : panels())
    if (info.figures != FiguresOf::none) CHECK_MESSAGE(!figures_word(info.figures, app.scene()).empty(), info.title);
}

TEST_CASE("locks are listed with their owners, and one that no request explains is named") {
  Stage shown;
  const auto node = shown.script.add(0, 10);
  const auto other = shown.script.add(0, 20);
  shown.open();
  shown.script.lock(node);
  shown.script.begin_request(41, 200, 160);
  shown.turn(Operation::begin);
  shown.screen.key(*shown.app, '9');
  shown.draw();
  CHECK(Ink().has("1 lock"));
  CHECK(Ink().has("req 41"));
  CHECK_FALSE(Ink().has("no request explains"));
  shown.script.lock(other);
  shown.turn();
  CHECK(Ink().has("1 that no request explains"));
  CHECK(Ink().has("no request"));
}

TEST_CASE("buttons write tables and a trace, only where files can be written") {
  Stage shown;
  busy(shown);
  CHECK_FALSE(Ink().has("trace"));
  std::map<std::string, std::string> files;
  shown.app->offer_exports([&](const std::string& name, const std::string& text) {
    files[name] = text;
    return "wrote " + name;
  });
  shown.draw();
  const auto click = [&](const char* words, std::size_t which) {
    const Ink ink;
    std::vector<const Ink::Line*> found;
    for (const Ink::Line& line : ink.lines())
      if (line.text == words) found.push_back(&line);
    REQUIRE(found.size() > which);
    shown.screen.click(
        *shown.app, {(found[which]->from.x + found[which]->to.x) / 2, (found[which]->from.y + found[which]->to.y) / 2});
    shown.draw();
  };
  for (std::size_t i = 0; i < 4; ++i) click("CSV", i);
  click("trace", 0);
  CHECK(Ink().has("wrote canopy-trace.json"));
  CHECK(files["canopy-tenants.csv"].find("\nlarge,1,5000,16,") != std::string::npos);
  CHECK(files["canopy-requests.csv"].find("\n7,large,5000,16,") != std::string::npos);
  CHECK(files["canopy-timeline.csv"].starts_with("first_commit,"));
  CHECK(files["canopy-hits.csv"].starts_with("node,"));
  CHECK(files["canopy-trace.json"].find("\"request 7\"") != std::string::npos);
}

TEST_CASE("tenants with shares: above or below them, and the payments, now and in a range") {
  Stage shown;
  FeedScript& script = shown.script;
  script.name_space(1, "acme/chat");
  script.name_space(2, "batch");
  script.name_space(3, "idle");
  const char* const names[] = {"", "acme", "batch", "idle"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    script.say(TextKind::tenant, i, names[i]);
    script.push(
        event::TenantShare{.tenant = i, .floor = i == 1 ? 32'000U : 0U, .ceiling = i == 2 ? 64'000 : kUnlimited});
    if (i > 0) script.push(event::TenantOfSpace{.tenant = i, .space = NamespaceId{i}});
  }
  script.pool(100'000, 10'000);  // 160,000 tokens
  script.add(0, 1'000, 1);
  script.add(0, 6'000, 2);
  script.push(event::TenantEvicted{.from = 1, .taker = 2, .tokens = 4'000});
  shown.open();
  script.push(event::TenantEvicted{.from = 1, .taker = 2, .tokens = 1'600});
  script.push(event::TenantEvicted{.from = 2, .taker = 1, .tokens = 320});
  script.push(event::TenantEvicted{.from = 2, .taker = 2, .tokens = 640});
  script.begin_request(1, 100, 0, 0, 1);
  shown.turn(Operation::evict);
  shown.screen.key(*shown.app, '8');
  shown.draw();
  TenantsTab& tab = shown.app->panel<TenantsTab>();
  REQUIRE(tab.shares().rows().size() == 3);  // no request is without a tenant
  const TenantShares::Row &batch = tab.shares().rows()[0], &acme = tab.shares().rows()[1];
  CHECK(batch.name == "batch");
  CHECK(batch.cached == 96'000);
  CHECK(batch.share == doctest::Approx(64'000));  // its ceiling
  CHECK(batch.above() == doctest::Approx(32'000));
  CHECK(batch.paid == 320);
  CHECK(batch.taken == 5'600);
  CHECK(acme.share == doctest::Approx(32'000 + 64'000));
  CHECK(acme.above() == doctest::Approx(16'000 - 96'000));
  CHECK(acme.paid == 5'600);
  REQUIRE(tab.shares().paid().size() == 2);
  CHECK(tab.shares().paid()[0].from == 1);
  CHECK(tab.shares().paid()[0].tokens == 5'600);
  CHECK(Ink().has("1 of 3 tenants above their share"));
  CHECK(Ink().has("who paid for whom"));
  CHECK(Ink().has("until here"));
  shown.app->time().range = shown.app->time().history.all();  // the events after the keyframe
  shown.draw();
  CHECK_FALSE(Ink().has("until here"));
  REQUIRE(tab.shares().paid().size() == 2);
  CHECK(tab.shares().paid()[0].tokens == 1'600);
  CHECK(tab.shares().rows()[1].paid == 1'600);
  tab.show_shares(false);
  shown.draw();
  CHECK_FALSE(Ink().has("who paid for whom"));
  CHECK(tab.rows().size() == 2);
}
