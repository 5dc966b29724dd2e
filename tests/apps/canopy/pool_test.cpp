#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "program.h"

using namespace cli;

TEST_CASE("pool: a running engine's pool is shown, resized from outside, and loses nothing") {
  const Workshop workshop, of_the_engine;
  const std::string name = "pool-test-" + std::to_string(::getpid());
  // Ten seconds long, so that it is still there for the last question of a slow build.
  const std::string serve = "replay " + (kSource / "configs/engines/lru.yaml").string() + " --workload " +
                            (kSource / "configs/workloads/chat.yaml").string() +
                            " --mode timed --limit 900 --pace 90 --set segment_pages=512" +
                            " --set 'store={host: {streams: {kv: 8}}}' --feed " + name;
  Ended served;
  std::thread engine([&] { served = run_canopy(of_the_engine, serve + " --capacity 400k"); });
  Ended shown;
  for (int tries = 0; tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    shown = run_canopy(workshop, "top --pools --feed " + name);
    if (shown.status == 0) break;
  }
  CHECK(has(shown.out, "limit  25,000 pages of 400,000 tokens"));
  CHECK(has(shown.out, "offered"));

  const Ended smaller = run_canopy(workshop, "top --resize full=64k --feed " + name);
  CHECK(smaller.status == 0);
  CHECK(has(smaller.out, "full: 25,000 pages of 400,000 tokens now"));
  CHECK(has(smaller.out, "full: 4,000 pages of 64,000 tokens"));
  shown = run_canopy(workshop, "top --pools --feed " + name);
  CHECK(has(shown.out, "limit  4,000 pages of 64,000 tokens"));
  CHECK(has(shown.out, "no memory"));
  CHECK(run_canopy(workshop, "top --resize 1M --feed " + name).status == 0);

  const Ended wrong = run_canopy(workshop, "top --resize ful=1M --feed " + name);
  CHECK(wrong.status == 2);
  CHECK(has(wrong.err, "has no group 'ful'. Did you mean 'full'?"));
  CHECK(run_canopy(workshop, "top --resize full --feed " + name).status == 2);
  CHECK(run_canopy(workshop, "top --resize full=3 --feed " + name).status == 2);
  CHECK(run_canopy(workshop, "top --resize full=lots --feed " + name).status == 2);

  engine.join();
  CHECK(served.status == 0);
  CHECK(has(served.out, "resized"));
  CHECK(has(served.out, "0 violations"));
  const Ended gone = run_canopy(workshop, "top --pools --feed " + name);
  CHECK(gone.status == 2);
}

TEST_CASE("pool: a replay resizes where --resize says, and says what it cannot mean") {
  const Workshop workshop;
  const std::string replay = "replay " + (kSource / "configs/engines/ten_million.yaml").string() + " --workload " +
                             (kSource / "configs/workloads/chat.yaml").string() + " --limit 300";
  const Ended fixed = run_canopy(workshop, replay);
  const Ended resized = run_canopy(workshop, replay + " --resize 100:20k --resize 200:full:12M");
  CHECK(fixed.status == 0);
  CHECK(resized.status == 0);
  CHECK_FALSE(has(fixed.out, "resized"));
  CHECK(has(resized.out, "resized       2 times"));
  CHECK(has(resized.out, "0 violations"));
  for (const auto& [argument, sentence] : {std::pair("20k", "expected REQUEST:TOKENS"),
                                           {"0:20k", "is outside at least 1"},
                                           {"5:3", "is outside at least 16"},
                                           {"5:win:20k", "has no group 'win'"},
                                           {"x:20k", "is not a whole number"}}) {
    CAPTURE(argument);
    const Ended run = run_canopy(workshop, replay + " --resize " + argument);
    CHECK(run.status == 2);
    CHECK(has(run.err, sentence));
  }
}
