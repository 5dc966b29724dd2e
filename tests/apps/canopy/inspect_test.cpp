/// `canopy inspect`: its figures equal the replay's own, and what it writes can be read.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using namespace cli;

namespace {

/// Records a small replay. Returns the recording's path.
std::string record(const Workshop& workshop, std::string& replay_out) {
  const std::string file = (workshop.path / "run.feed").string();
  const Ended replay = run_canopy(workshop, "replay " + (kSource / "configs/engines/sglang_lru.yaml").string() +
                                                " --workload " + (kSource / "configs/workloads/mixed.yaml").string() +
                                                " --limit 300 --capacity 60000 --no-content --record " + file +
                                                " --json " + (workshop.path / "run.json").string());
  REQUIRE_MESSAGE(replay.status == 0, replay.err);
  replay_out = replay.out;
  return file;
}

/// Returns the last number of the line that begins with these words.
std::string figure(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find("  " + words + "  ") == 0) return line.substr(line.find_last_of(' ') + 1);
  return {};
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

TEST_CASE("inspect's figures are the replay's") {
  const Workshop workshop;
  std::string replay;
  const std::string file = record(workshop, replay);
  const Ended whole = run_canopy(workshop, "inspect " + file);
  REQUIRE_MESSAGE(whole.status == 0, whole.err);
  const auto run = nlohmann::json::parse(slurp(workshop.path / "run.json"));
  const auto number = [&](const char* key) {
    const auto found = run.flatten();
    for (const auto& [path, value] : found.items())
      if (path.ends_with(std::string("/") + key)) return value.get<std::uint64_t>();
    FAIL("the report has no " << key);
    return std::uint64_t{0};
  };
  CHECK(figure(whole.out, "requests") == grouped(number("requests")));
  CHECK(figure(whole.out, "prompt tokens") == grouped(number("prompt_tokens")));
  CHECK(figure(whole.out, "hit tokens") == grouped(number("hit_tokens")));
  CHECK(figure(whole.out, "evicted tokens") == grouped(number("evicted_tokens")));
  // Two halves are the whole.
  const auto requests = [&](const std::string& range) {
    const Ended csv = run_canopy(workshop, "inspect " + file + " --csv requests --range " + range);
    CHECK(csv.status == 0);
    return std::count(csv.out.begin(), csv.out.end(), '\n') - 1;
  };
  CHECK(requests("1..500") + requests("501..999999999") == static_cast<std::ptrdiff_t>(number("requests")));
  CHECK(requests("0%..100%") == static_cast<std::ptrdiff_t>(number("requests")));
}

TEST_CASE("inspect writes a page without script and a trace that is JSON") {
  const Workshop workshop;
  std::string replay;
  const std::string file = record(workshop, replay);
  const std::string page = (workshop.path / "page.html").string(), trace = (workshop.path / "trace.json").string();
  const Ended made =
      run_canopy(workshop, "inspect " + file + " --range 100..600 --report " + page + " --trace " + trace);
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(made.out.empty());
  const std::string html = slurp(page);
  CHECK(has(html, "</html>"));
  CHECK(has(html, "Tenants in the range"));
  CHECK_FALSE(has(html, "<script"));
  CHECK_FALSE(has(html, "http"));
  const auto events = nlohmann::json::parse(slurp(trace)).at("traceEvents");
  std::size_t slices = 0, counters = 0;
  for (const auto& event : events) {
    slices += event.at("ph") == "X", counters += event.at("ph") == "C";
    CHECK(event.contains("pid"));
  }
  CHECK(slices > 20);
  CHECK(counters > 20);
}

TEST_CASE("inspect says of a cut or damaged recording that it is one, in each output and in the exit code") {
  const Workshop workshop;
  std::string replay;
  const std::string file = record(workshop, replay), bytes = slurp(file);
  const std::string page = (workshop.path / "page.html").string(), trace = (workshop.path / "trace.json").string();
  const auto says = [&](const std::string& path, const std::string& sentence) {
    CAPTURE(path);
    const Ended figures = run_canopy(workshop, "inspect " + path);
    CHECK(figures.status == 1);
    CHECK_MESSAGE(has(figures.out, "doubt: " + sentence), figures.out);
    const Ended csv = run_canopy(workshop, "inspect " + path + " --csv tenants");
    CHECK(csv.status == 1);
    CHECK(has(csv.err, "doubt: " + sentence));
    CHECK_FALSE(has(csv.out, "doubt"));
    const Ended files =
        run_canopy(workshop, "inspect " + path + " --range 0%..50% --report " + page + " --trace " + trace);
    CHECK(files.status == 1);
    CHECK(has(files.err, "doubt: " + sentence));
    CHECK(has(slurp(page), "Doubt: " + sentence));
    CHECK(has(slurp(trace), "doubt: " + sentence));
    const Ended beside = run_canopy(workshop, "inspect " + file + " --beside " + path);
    CHECK(beside.status == 1);
    CHECK(has(beside.out, "doubt: " + path + ": " + sentence));
  };
  const std::size_t events = (bytes.size() - 4096) / 32;
  says(workshop.file("cut.feed", bytes.substr(0, 4096 + events / 2 * 32)),
       "the recording was cut: it has " + grouped(events / 2) + " of the " + grouped(events) + " events");
  std::string damaged = bytes;
  damaged[4096 + events / 2 * 32 + 9] = static_cast<char>(damaged[4096 + events / 2 * 32 + 9] ^ 4);
  says(workshop.file("damaged.feed", damaged), "the recording was damaged");
  CHECK(run_canopy(workshop, "inspect " + file + " --beside " + file).status == 0);
}

TEST_CASE("what inspect cannot use is an error message, and nothing is written") {
  const Workshop workshop;
  std::string replay;
  const std::string file = record(workshop, replay);
  CHECK(has(run_canopy(workshop, "inspect " + file + " --range 5..x").err, "expected A..B"));
  CHECK(has(run_canopy(workshop, "inspect " + file + " --range 999999998..999999999").err, "nothing of the recording"));
  CHECK(run_canopy(workshop, "inspect " + file + " --csv nothing").status == 2);
  CHECK(run_canopy(workshop, "inspect /etc/passwd").status == 2);
  const std::string bytes = slurp(file);
  CHECK(run_canopy(workshop, "inspect " + file + " --report " + file).status == 2);
  CHECK(slurp(file) == bytes);
}
