/// `canopy replay --publish`.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using namespace cli;

namespace {

const std::string kReplay = "replay " + (kSource / "configs/engines/lru.yaml").string() + " --workload " +
                            (kSource / "configs/workloads/chat.yaml").string() + " --limit 300 --set store=none ";

std::string digest_in(const std::string& out) {
  const std::size_t at = out.find(", digest ");
  return at == std::string::npos ? out : out.substr(at, 25);
}

}  // namespace

TEST_CASE("a replay that publishes decides the same, says where, and counts what it published") {
  const Workshop workshop;
  const Ended alone = run_canopy(workshop, kReplay);
  const std::string endpoint = "ipc://" + (workshop.path / "e.sock").string();
  const Ended published =
      run_canopy(workshop, kReplay + "--publish " + endpoint + " --publish-replay tcp://127.0.0.1:* --json " +
                               (workshop.path / "r.json").string());
  CHECK(published.status == 0);
  CHECK(digest_in(published.out) == digest_in(alone.out));
  CHECK(has(digest_in(published.out), ", digest "));
  CHECK(has(published.err, "KV events are published at " + endpoint));
  CHECK(has(published.err, "past KV events are sent again on request at tcp://127.0.0.1:"));
  CHECK_FALSE(has(published.err, "other machines"));
  const auto events = nlohmann::json::parse(slurp(workshop.path / "r.json")).at("kv_events");
  CHECK(events.at("batches") > 0);  // their number depends on how often the publisher looks
  CHECK(events.at("stored_blocks") > 100);
  CHECK(events.at("losses") == 0);
  const auto figure = [&](const char* name) { return std::to_string(events.at(name).get<std::uint64_t>()); };
  std::string plain = published.out;
  std::erase(plain, ',');
  CHECK(has(plain, figure("batches") + " batches with "));
  CHECK(has(plain, figure("stored_blocks") + " blocks stored and " + figure("removed_blocks") + " removed"));
  CHECK_FALSE(fs::exists(workshop.path / "e.sock"));
}

TEST_CASE("a wildcard is said aloud, and an endpoint that cannot be is refused before the run") {
  const Workshop workshop;
  CHECK(has(run_canopy(workshop, kReplay + "--publish 'tcp://*:*'").err,
            "can be reached from other machines: any client that connects can read the tokens of all prompts"));
  for (const auto& [publish, sentence] : {std::pair("5557", "is not an endpoint"),
                                          {"tcp://127.0.0.1:99999", "0 to 65535"},
                                          {"ipc:///", "is a folder; expected a path that does not exist"}}) {
    const Ended refused = run_canopy(workshop, kReplay + "--publish " + publish);
    CHECK(refused.status == 2);
    CHECK_MESSAGE(has(refused.err, sentence), refused.err);
    CHECK(refused.out.empty());
  }
  const Ended dialect = run_canopy(workshop, kReplay + "--publish tcp://127.0.0.1:* --dialect array");
  CHECK(dialect.status == 2);
  CHECK(has(dialect.err, "arrays"));
}

TEST_CASE("a replay that stays answers until SIGINT, and one that awaits a subscriber ends by it") {
  const Workshop workshop;
  Started stays(workshop, "stays", kReplay + "--publish tcp://127.0.0.1:* --publish-replay tcp://127.0.0.1:* --stay");
  REQUIRE(soon([&] { return has(slurp(workshop.path / "stays.err"), "the run has ended"); }));
  const Ended ended = stays.end(SIGINT);
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "KV events: "));
  Started waits(workshop, "waits", kReplay + "--publish tcp://127.0.0.1:* --await");
  REQUIRE(soon([&] { return has(slurp(workshop.path / "waits.err"), "KV events are published"); }));
  CHECK(waits.end(SIGINT).status == 130);
}
