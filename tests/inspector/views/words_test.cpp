#include <doctest/doctest.h>
#include <mirror/names.h>
#include <mirror/rank_text.h>
#include <views/events_tab.h>

#include <sstream>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("a node is called by its slot, and by its life from the second on") {
  CHECK(node_name(std::uint64_t{1} << 32 | 12) == "#12");
  CHECK(node_name(std::uint64_t{3} << 32 | 12) == "#12.3");
  std::uint32_t slot = 0, life = 0;
  CHECK(parse_node_name("#12.3", slot, life));
  CHECK((slot == 12 && life == 3));
  CHECK(parse_node_name("7", slot, life));
  CHECK((slot == 7 && life == 0));
  for (const char* wrong : {"", "#", "x", "12x", "12.", "12.0", "-1"}) CHECK_FALSE(parse_node_name(wrong, slot, life));
}

TEST_CASE("ranks are words a person can check") {
  CHECK(rank_words("used {minor:ago}", {0, 90}, 100) == "used 10 ticks ago");
  CHECK(rank_words("used {minor:~ago}", {0, ~std::uint64_t{90}}, 100) == "used 10 ticks ago");
  CHECK(rank_words("{major} hits, used {minor:ago}", {3, 90}, 100) == "3 hits, used 10 ticks ago");
  CHECK(rank_words("priority {major:signed}", {std::uint64_t{1} << 31, 90}, 100) == "priority 0");
  CHECK(rank_words("{major:on probation|protected}, {minor:ago}", {7, 90}, 100) == "protected, 10 ticks ago");
  CHECK(rank_words("worth {major:real}", {std::bit_cast<std::uint64_t>(0.25), 0}, 100) == "worth 0.25");
  CHECK(rank_words("", {0, 1234}, 0) == "1,234");
  CHECK(rank_words("", {5, 1234}, 0) == "5 / 1,234");
  CHECK(rank_words("{major:signed}", {std::uint64_t{1} << 63, 0}, 0) == "9223372034707292160");
  CHECK(rank_words("{minor.0-1:no|yes|later}, {minor.2-63:ago}", {0, 90 << 2 | 2}, 100) == "later, 10 ticks ago");
  CHECK(rank_words("{major.63-63} {minor.0-63}", {std::uint64_t{1} << 63, 7}, 0) == "1 7");
  for (const char* form : {"{minor.}", "{minor.3}", "{minor.3-2}", "{minor.0-64}", "{minors}", "{major.-1-2:x|y}"})
    CHECK(rank_words(form, {1, 1}, 0) == form);
  CHECK(rank_words("{other} and {", {5, 1234}, 0) == "{other} and {");
}

TEST_CASE("a line of the log is a sentence") {
  LogLine line;
  line.operation = Operation::evict;
  line.removed = 2;
  line.tokens = 2048;
  line.node = std::uint64_t{1} << 32 | 77;
  CHECK(sentence_of(line) == "evict, 2 nodes evicted, 2,048 tokens #77");
}

TEST_CASE("lines break between words and never inside a number") {
  Headless screen;
  FeedScript script;
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
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
