/// The texts of SELECTED about a node.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ink.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("a node that many requests lock names them line by line and says how many more there are") {
  for (const float width : {960.F, 1280.F, 1600.F, 2560.F}) {
    CAPTURE(width);
    Stage shown(width, 900);
    const auto node = shown.script.add(0, 10);
    shown.open();
    for (std::uint64_t id = 1000; id < 1020; ++id) {
      shown.script.lock(node);
      shown.script.begin_request(id, 1000, 160, 2);
    }
    shown.turn();
    shown.app->selection().select_node(node);
    shown.turn();
    const Ink ink;
    CHECK(ink.overprinted() == std::vector<std::string>{});
    CHECK(ink.has("20 locks"));
    std::size_t named = 0;
    for (int id = 1000; id < 1020; ++id)
      if (const Ink::Line* line = ink.find(fmt::format("req {}", id)); line && line->from.y < 500) ++named;
    CHECK(named == 12);
    CHECK(ink.has(fmt::format("and {} more", 20 - 12)));
    CHECK(ink.has("below it"));
  }
}
