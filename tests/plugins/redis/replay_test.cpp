/// Replays with their content checks, over a server that is well and over one in trouble.
#include <apps/canopy/program.h>
#include <conformance/model/effort.h>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "server.h"

using namespace canopy::test;

namespace {

/// An engine whose pools and host tier are small, so that much of what comes back comes from the storage.
std::string replay(const cli::Workshop& workshop, const Server& server, const std::string& more = {}) {
  const auto requests = std::to_string(200 + with_effort(600));
  const cli::Ended ended =
      cli::run_canopy(workshop, "replay " + (cli::kSource / "configs/engines/tiers_redis.yaml").string() + " --workload " +
                                (cli::kSource / "configs/workloads/chat.yaml").string() + " --limit " + requests +
                                " --set groups.full.capacity=20000 --set tiers.host.capacity=30000" +
                                " --set tiers.storage.in.redis.at=" + server.address() + more);
  CAPTURE(ended.err);
  CHECK(ended.status == 0);
  CHECK(ended.out.find(" 0 violations") != std::string::npos);
  return ended.out;
}

std::uint64_t from_storage(const std::string& out) {
  const std::string line = "from the storage";
  std::string digits;
  for (std::size_t at = out.find(line) + line.size(); at < out.size() && out[at] != 't'; ++at)
    if (out[at] >= '0' && out[at] <= '9') digits += out[at];
  return digits.empty() ? 0 : std::stoull(digits);
}

}  // namespace

TEST_CASE("a replay finds on the server what it put there, and a second process finds it too") {
  if (server_program().empty()) return;
  const cli::Workshop workshop;
  const Server server;
  const std::string patient = " --set tiers.storage.within=500s";  // a busy machine is no server in trouble
  const std::uint64_t first = from_storage(replay(workshop, server, patient));
  CHECK(first > 0);
  CHECK(from_storage(replay(workshop, server, patient)) > first);
}

TEST_CASE("records that were swapped and harmed on the server are noticed, and none is used") {
  if (server_program().empty()) return;
  const cli::Workshop workshop;
  const Server server;
  const std::string patient = " --set tiers.storage.within=500s";
  CHECK(from_storage(replay(workshop, server, patient)) > 0);
  CHECK(server.say({"EVAL",
                    "local names = redis.call('KEYS', 'c1:*{*}:*') "
                    "for i = 1, #names - 3, 3 do "
                    "redis.call('RENAME', names[i], 'other') redis.call('RENAME', names[i + 1], names[i]) "
                    "redis.call('RENAME', 'other', names[i + 1]) redis.call('SETRANGE', names[i + 2], 5000, 'xyz') end "
                    "return #names",
                    "0"}) != "integer 0 .\n");
  const std::string out = replay(workshop, server, patient);
  CHECK(out.find("; 0 damaged records") == std::string::npos);
}

TEST_CASE("a replay goes on and its bytes are right while the server is killed, stopped, flushed and filled") {
  if (server_program().empty()) return;
  const cli::Workshop workshop;
  Server server;
  std::atomic<bool> done = false;
  std::thread trouble([&] {
    for (int i = 0; !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (i % 4 == 0) server.say({"CONFIG", "SET", "maxmemory", "10mb"});
      if (i % 4 == 1) server.say({"FLUSHALL"});
      if (i % 4 == 2) {
        server.stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        server.go_on();
      }
      if (i % 4 == 3) {
        server.kill();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        server.start();
      }
    }
  });
  replay(workshop, server);
  done = true;
  trouble.join();
}
