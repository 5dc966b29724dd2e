/// `canopy top`: what it counts, and what it shows after it was too slow.
#include <doctest/doctest.h>

#include "program.h"

using namespace cli;

namespace {

constexpr const char* kEngine =
    "page_size: 16\nindex: radix\n"
    "groups: { full: { reach: path, capacity: 6000, allocator: free_list, eviction: lru } }\n";

std::string feed_name(const char* of) { return std::string("top-") + of + "-" + std::to_string(::getpid()); }

}  // namespace

TEST_CASE("top: requests that ran before it attached are no hits, and what left has its cause") {
  const Workshop workshop;
  const std::string name = feed_name("counts");
  // No two prompts begin alike; running requests are retracted, and then match their own pages.
  std::string trace;
  for (int i = 0; i < 400; ++i) {
    trace += "{\"time_ms\": " + std::to_string(i * 50) + R"(, "block_size": 16, "input_tokens": 64, "ids": [)";
    for (int block = 0; block < 4; ++block) trace += (block ? ", " : "") + std::to_string(100 * i + block);
    trace += "], \"output_tokens\": 900}\n";
  }
  const std::string file = workshop.file("late.jsonl", trace);
  Started served(workshop, "served",
                 "replay " + workshop.file("engine.yaml", kEngine) + " --store none --no-content --trace canopy:" +
                     file + " --mode timed --abort-permille 0 --pace 40 --feed " + name);
  Ended shown;
  REQUIRE(soon([&] { return has((shown = run_canopy(workshop, "top --once --feed " + name)).out, " for room"); }));
  CHECK(shown.status == 0);
  CHECK_MESSAGE((has(shown.out, "hit rate  0.00 % since attached, 0.00 % lately, ") ||
                 has(shown.out, "hit rate  - since attached, - lately, 0 requests")),
                shown.out);
  CHECK(has(shown.out, " of full since attached, "));
  served.end(SIGTERM);
}

TEST_CASE("top: after it was too slow, what it cannot know is no number") {
  const Workshop workshop;
  const std::string name = feed_name("lap");
  const std::string file =
      workshop.file("engine.yaml", std::string(kEngine) + "feed: { shm: { name: " + name + ", events: 4096 } }\n");
  Started served(workshop, "served",
                 "replay " + file + " --workload " + (kSource / "configs/workloads/chat.yaml").string() +
                     " --store none --no-content --mode timed --limit 1200 --pace 400");
  REQUIRE(soon([&] { return run_canopy(workshop, "top --pools --feed " + name).status == 0; }));
  Started top(workshop, "top", "top --feed " + name);
  REQUIRE(soon([&] { return has(slurp(workshop.path / "top.out"), "Hottest prefixes"); }));
  // The first screen comes at once: nothing has happened since it attached.
  CHECK_MESSAGE(has(slurp(workshop.path / "top.out"), " - lately, "), slurp(workshop.path / "top.out"));
  top.signal(SIGSTOP);
  CHECK(served.end(0).status == 0);
  const std::size_t before = slurp(workshop.path / "top.out").size();
  top.signal(SIGCONT);
  const Ended ended = top.end(0);
  const std::string last = ended.out.substr(before);
  CHECK_MESSAGE(has(last, "events came faster than they were read"), last);
  CHECK_MESSAGE(has(last, "drift -"), last);
  CHECK(has(last, "  full      -\n"));
  CHECK(has(last, "-: not known until the engine sends its whole state again"));
  CHECK_FALSE(has(last, "evictable"));
  CHECK(has(last, "The feed has ended: the engine has ended."));
  CHECK(ended.status == 1);
}
