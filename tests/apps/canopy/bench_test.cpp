#include "program.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace {

using namespace cli;

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part), begin = text.rfind('\n', at) + 1;
  return at == std::string::npos ? std::string() : text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

TEST_CASE("a bench of the splits ends well, its figures parse, and against itself nothing has changed") {
  const Workshop workshop;
  const std::string json = (workshop.path / "figures.json").string();
  const Ended run = run_canopy(workshop, "bench --quick --only split --json " + json);
  REQUIRE_MESSAGE(run.status == 0, run.err);
  CHECK(has(run.out, "x floor"));
  CHECK(has(run.out, "x faster"));
  const auto figures = nlohmann::json::parse(slurp(json));
  CHECK(figures["index"] == "radix");
  CHECK(figures["quick"] == true);
  REQUIRE(figures["rows"].size() > 3);

  const Ended again = run_canopy(workshop, "bench --from " + json + " --compare " + json);
  REQUIRE_MESSAGE(again.status == 0, again.err);
  for (const auto& row : figures["rows"]) {
    const std::string name = row["name"];
    CHECK(has(name, "split"));
    CHECK(row["ours"]["low"] <= row["ours"]["median"]);
    CHECK(row["ours"]["median"] <= row["ours"]["high"]);
    const std::string line = line_with(again.out, name);
    CHECK_MESSAGE(has(line, "+0.0 %"), line);
    CHECK_MESSAGE(!has(line, " !"), line);
  }
}

TEST_CASE("what a bench cannot use is a sentence and exit code 2") {
  const Workshop workshop;
  const std::string garbage = workshop.file("garbage.json", "{\"rows\": 3}");
  const std::pair<const char*, const char*> cases[] = {
      {"--only nothing_is_called_so", "no row's name contains 'nothing_is_called_so'"},
      {"--index radixx", "Did you mean 'radix'?"},
      {"--index null", "keeps nothing"},
      {"--only 'replay: pages, page 1' --trace /no/such/trace.jsonl", "/no/such/trace.jsonl"},
      {"--compare /no/such/figures.json", "/no/such/figures.json"},
      {"--json /no/such/folder/figures.json", "/no/such/folder"},
      {"--from GARBAGE", "this is not a file of `canopy-dev bench --json`"},
      {"--bogus", "--bogus"}};
  for (const auto& [arguments, sentence] : cases) {
    CAPTURE(arguments);
    std::string line = arguments;
    if (const std::size_t at = line.find("GARBAGE"); at != std::string::npos) line.replace(at, 7, garbage);
    const Ended run = run_canopy(workshop, "bench --quick " + line);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, sentence), run.err);
    CHECK(run.out.empty());
  }
}

TEST_CASE("figures of another size are not compared") {
  const Workshop workshop;
  const std::string full =
      workshop.file("full.json", R"({"index": "radix", "source": "", "quick": false, "rows": [], "remarks": []})");
  const Ended run = run_canopy(workshop, "bench --quick --only split --compare " + full);
  CHECK(run.status == 2);
  CHECK(has(run.err, "--quick"));
}
