#include <support/scenario.h>
#include <support/source_folder.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

using canopy::test::run_scenario;

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> folders{std::filesystem::path(kSourceFolder) / "tests/scenarios"}, files;
  if (const char* const more = std::getenv("CANOPY_SCENARIOS")) folders.emplace_back(more);
  for (const auto& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".scenario") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

TEST_CASE("every scenario holds") {
  const auto files = scenario_files();
  CHECK(files.size() >= 80);
  for (const auto& file : files)
    for (const auto& error : run_scenario(file)) FAIL_CHECK(error);
}

TEST_CASE("a scenario that fails is reported with its line, what was expected and what came") {
  const auto errors = run_scenario("engine page_size=1 capacity=4\n\ninsert 1 2   -> had 1  # it was empty\n", "story");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0] == "story:3: expected had 1, got 0");
}

TEST_CASE("a scenario that cannot be understood is reported with its line") {
  CHECK(run_scenario("insert 1\n", "a") ==
        std::vector<std::string>{"a:1: the first line must be 'engine ...' or 'requests ...'"});
  CHECK(run_scenario("engine\nswim 1\n", "b").at(0).starts_with("b:2: 'swim' is not an operation"));
  CHECK(run_scenario("engine\nmatch x\n", "c") == std::vector<std::string>{"c:2: 'x' is not a number"});
  CHECK(run_scenario("engine\nclear -> swum 3\n", "d") ==
        std::vector<std::string>{"d:2: expected swum 3, got no such result"});
}

TEST_CASE("a scenario runs with every combination of its values, and a mistake says with which") {
  const std::string story =
      "with page=1 4\nwith groups=full full,window:1\n"
      "engine page_size=$page groups=$groups words=pages capacity=4\n"
      "insert 1   -> length 1, window.from 0\n";
  CHECK(run_scenario(story, "a").empty());
  CHECK(run_scenario(story + "evict window 1 -> window.left 1\n", "b").empty());
  CHECK(run_scenario(story + "evict window 1 -> window.left 7\n", "c") ==
        std::vector<std::string>{"c:5: with groups=full,window:1 page=1: expected window.left 7, got 1"});
  CHECK(run_scenario(story + "state -> states.free 4\n", "d") ==
        std::vector<std::string>{"d:5: with groups=full page=1: expected states.free 4, got no such result"});
}

TEST_CASE("a second engine line begins another world") {
  CHECK(run_scenario("engine page_size=1\ninsert 1\nrequests page_size=1\npeek 1 -> 0\n", "a").empty());
  CHECK(run_scenario("engine page_size=1\nengine page_size=1 groups=full\nmatch as=a 1 -> 1\n", "b") ==
        std::vector<std::string>{"b:3: expected length 1, got 0"});
}

TEST_CASE("a mistake in groups, requests or values is reported in a sentence") {
  const auto error = [](const std::string& text) {
    const auto errors = run_scenario(text, "s");
    return errors.empty() ? std::string() : errors.front();
  };
  CHECK(error("with page\nengine\n") == "s:1: 'with' wants name=value, and perhaps more values");
  CHECK(error("engine page_size=$page\n") == "s:1: '$page' is not set by a line 'with page=...'");
  CHECK(error("with page=1\n") == "s:2: there is no 'engine' or 'requests' line");
  CHECK(error("engine groups=full,window:x\n") == "s:1: 'x' is not a number");
  CHECK(error("engine groups=a:1:2:lru:9\n") == "s:1: 'a:1:2:lru:9' is not a group: name[:reach[:capacity[:policy]]]");
  CHECK(error("engine groups=a,b,c,d,e\n") == "s:1: 'a,b,c,d,e': expected 1 to 4 groups");
  CHECK(error("engine groups=full\nevict window 1\n") == "s:2: 'window' is not a group of this engine");
  CHECK(error("engine groups=full\nrelease a\n") == "s:2: there is no lock called 'a'");
  CHECK(error("engine\nrelease a\n") == "s:2: there is no lock called 'a'");
  CHECK(error("engine\ndrop h\n") == "s:2: there is no owner of pages called 'h'");
  CHECK(error("engine page_size=1\ninsert as=a 1 2\ninsert below=a 1\n") ==
        "s:3: the key does not begin with the key of 'a'");
  CHECK(error("engine groups=full page_size=2\ninsert full.from=1 1 2\n") == "s:2: full.from=1 is inside a page");
  CHECK(error("engine\nevict window 1\n") == "s:2: 'window' is not a group of this engine");
  CHECK(error("engine words=pages overlap=1\n") == "s:1: words=pages is for keys without an overlap");
  CHECK(error("engine\nmatch 3..1\n") == "s:2: '3..1' decreases");
  CHECK(error("engine\n-> 3\n") == "s:2: nothing is done before '->'");
  CHECK(error("engine\nstate ->\n") == "s:2: an expectation is empty");
  CHECK(error("requests\nreserve a\n") == "s:2: there is no request called 'a'");
  CHECK(error("requests\nbegin a 1\nbegin a 1\n") == "s:3: there is a request called 'a' already");
  CHECK(error("requests\nbegin a 1\nfly a\n").starts_with("s:3: 'fly' is not an operation"));
  CHECK(error("requests\ninsert 1\n").starts_with("s:2: 'insert' is not an operation"));
  CHECK(error("requests\nflush in=1\n") == "s:2: 'flush' has no setting 'in'\n  known here: none");
  CHECK(error("requests\nbegin a 1\ncommit a\n") == "s:3: of 1 tokens 0 have pages: 1 cannot be computed");
  CHECK(error("requests\nbegin a 1\nfinish a\n") == "s:3: of 1 tokens 0 have pages: 1 cannot be computed");
  CHECK(error("requests\nbegin a 1\nreserve a\nresume a\n") == "s:4: 'a' was not retracted");
  CHECK(error("requests\nbegin a 1 colour=2\n").starts_with("s:2: 'begin' has no setting 'colour'"));
  CHECK(error("requests index=tree\n").starts_with("s:1: "));
}
