/// The questions of docs/inspector.md: after the keys that it names, its bold words are on the screen.
#include <demo/live_demo.h>
#include <doctest/doctest.h>
#include <shell/link.h>
#include <views/timeline_panel.h>
#include <window/ring_link.h>

#include <fstream>
#include <regex>

#include "ink.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

struct Question {
  std::string words;
  std::vector<std::string> keys, answer;
};

/// Returns the parts of a text that a mark encloses.
std::vector<std::string> marked(const std::string& text, const std::string& mark) {
  std::vector<std::string> parts;
  const std::regex pattern(mark + "([^`*]+)" + mark);
  for (std::sregex_iterator at(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at)
    parts.push_back((*at)[1]);
  return parts;
}

std::vector<Question> questions() {
  std::ifstream file(CANOPY_DOCS "/inspector.md");
  std::vector<Question> all;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) here = line == "## Ten questions";
    const std::size_t keys = line.find('|', 1), answer = line.find('|', keys + 1);
    if (!here || !line.starts_with("| ") || line[keys - 2] != '?') continue;
    all.push_back({line.substr(2, keys - 3), marked(line.substr(keys, answer - keys), "`"),
                   marked(line.substr(answer), "\\*\\*")});
  }
  return all;
}

void press(Headless& screen, App& app, const std::vector<std::string>& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == "drag") {
      const TimelinePanel& timeline = app.panel<TimelinePanel>();
      const float width = timeline.scale().right - timeline.scale().left, y = timeline.pool_track().top + 5;
      screen.drag(app, {timeline.scale().left + width * 0.5F, y}, {timeline.scale().left + width * 0.7F, y});
    } else if (keys[i] == "/") {
      screen.find(app, keys[i + 1].c_str());
      i += 2;  // the words and Enter
    } else {
      REQUIRE(keys[i].size() == 1);
      screen.key(app, keys[i][0]);
    }
    for (int frame = 0; frame < 3; ++frame) screen.frame(app);
  }
}

}  // namespace

TEST_CASE("the ten questions of the document are answered after the keys that it names") {
  const std::vector<Question> all = questions();
  REQUIRE(all.size() == 10);
  for (const auto& [width, height] : {std::pair(1600.F, 900.F), std::pair(1280.F, 720.F)})
    for (const Question& question : all) {
      CAPTURE(question.words);
      CAPTURE(width);
      REQUIRE(!question.answer.empty());
      auto demo = demo::LiveDemo::make();
      REQUIRE(demo);
      Headless screen(width, height);
      App app(link_to((*demo)->header(), "demo"), Settings{});
      (*demo)->start(false);
      for (std::uint64_t requests = 20; requests <= 900; requests += 20) {
        (*demo)->run_to(requests);
        while (!app.pump(std::chrono::milliseconds(50))) continue;
      }
      for (int frame = 0; frame < 3; ++frame) screen.frame(app);
      press(screen, app, question.keys);
      const Ink ink;
      for (const std::string& words : question.answer) CHECK_MESSAGE(ink.has(words), words);
      CHECK(ink.overprinted() == std::vector<std::string>{});
    }
}
