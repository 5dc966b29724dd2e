/// Servers that die, stop, forget and lie: every call ends, no memory is touched that is not lent, and when the server
/// is well again so is the storage. The caller compares each record that it is given, and checks its memory.
#include <canopy/base/random.h>

#include <doctest/doctest.h>

#include <support/sanitizers.h>
#include <chrono>
#include <cstdio>
#include <thread>

#include "middle.h"
#include "server.h"
#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr std::uint64_t kLarge = (2 << 20) + 4096;

bool works(StorageCaller& caller, std::uint32_t path) {
  const Keys keys = blocks_of(path, 4);
  return count_of(caller.put_now(kSpace, keys), Fate::done) == 4 && caller.find_now(kSpace, keys) == 4 &&
         count_of(caller.get_now(kSpace, keys), Fate::done) == 4;
}

void until_it_works(StorageCaller& caller) {
  static std::uint32_t path = 1'000'000;
  for (int i = 0; i < 500; ++i) {
    if (works(caller, ++path)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(works(caller, ++path));
}

/// Calls of every kind, `within_us` each.
void begin_some(StorageCaller& caller, std::uint32_t path, std::uint64_t within_us) {
  caller.find(kSpace, blocks_of(path, 100), within_us);
  caller.get(kSpace, blocks_of(path, 4), within_us);
  caller.put(kSpace, blocks_of(path + 1, 4), within_us);
  caller.storage().remove(kSpace, blocks_of(path + 2, 2));
}

}  // namespace

TEST_CASE("a server that is killed fails its calls, and one that comes back is used again") {
  if (server_program().empty()) return;
  Server server;
  const auto caller = caller_at(server.address(), kLarge, "", 16);
  REQUIRE(works(*caller, 1));
  for (std::uint32_t round = 0; round < 2; ++round) {
    begin_some(*caller, 1, 60'000'000);
    server.kill();
    caller->wait_all();  // although they had a minute
    begin_some(*caller, 1, 60'000'000);
    caller->wait_all();
    CHECK(!works(*caller, 50));
    CHECK(!caller->storage().flush(kSpace));  // cannot be promised
    server.start();
    until_it_works(*caller);
    CHECK(caller->find_now(kSpace, blocks_of(1, 4)) == 0);  // it came back empty
  }
}

TEST_CASE("a server that is not there yet is found when it comes") {
  if (server_program().empty()) return;
  Server server;
  server.kill();
  const CapturedStderr captured;
  const auto caller = caller_at(server.address());
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(!works(*caller, i));
  CHECK(captured.text().find(server.address() + ": ") != std::string::npos);
  server.start();
  until_it_works(*caller);
}

TEST_CASE("a host is known by its name, with several addresses or none") {
  if (server_program().empty()) return;
  if (kThreadSanitizer) {
    MESSAGE("SKIPPED: getaddrinfo_a has a thread that ThreadSanitizer does not know, and ends in its malloc");
    return;
  }
  const Server server(Server::Listens::loopback);
  // On many machines the first address of this name is ::1, where this server does not listen.
  until_it_works(*caller_at("localhost:" + std::to_string(server.port())));
  const CapturedStderr captured;
  const auto caller = caller_at("no-such-host.invalid:6379");
  CHECK(caller->wait(caller->find(kSpace, blocks_of(1, 4), 60'000'000)).fate == Fate::failed);
  CHECK_MESSAGE(captured.text().find("no-such-host.invalid:6379: the host has no known address") != std::string::npos,
                captured.text());
  CHECK(caller->wait(caller->find(kSpace, blocks_of(1, 4), 60'000'000)).fate == Fate::failed);
}

TEST_CASE("calls end while the server is stopped, and nothing that arrives later touches their memory") {
  if (server_program().empty()) return;
  Server server;
  const auto caller = caller_at(server.address(), kLarge, "", 24);
  REQUIRE(works(*caller, 1));
  for (const int stopped_ms : {100, 2000}) {
    server.stop();
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto find = caller->find(kSpace, blocks_of(1, 100), 20'000);
      const auto get = caller->get(kSpace, blocks_of(1, 4), 30'000);
      const auto put = caller->put(kSpace, blocks_of(100 + i, 4), 30'000);
      caller->wait_all();
      CHECK(caller->ended(find).fate == Fate::late);
      CHECK(count_of(caller->ended(get).fates, Fate::late) == 4);
      CHECK(caller->ended(put).fate == Fate::late);
    }
    // Some of it is on its way already when the time is up.
    begin_some(*caller, 1, 5'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(stopped_ms));
    caller->check_memory();
    server.go_on();
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      caller->check_memory();
    }
    until_it_works(*caller);
    CHECK(count_of(caller->get_now(kSpace, blocks_of(1, 4)), Fate::done) == 4);
  }
}

TEST_CASE("a call that is too late in the middle of its records leaves them alone") {
  if (server_program().empty()) return;
  const Server server;
  const auto caller = caller_at(server.address(), kLarge, "", 24);
  REQUIRE(count_of(caller->put_now(kSpace, blocks_of(1, 8)), Fate::done) == 8);
  Random random(5);
  std::size_t late = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint64_t within_us = 200 + random.below(8'000);
    const auto get = caller->get(kSpace, blocks_of(1, 8), within_us);
    const auto put = caller->put(kSpace, blocks_of(100 + i, 8), within_us);
    caller->wait_all();
    late += count_of(caller->ended(get).fates, Fate::late) > 0;
    late += caller->ended(put).fate == Fate::late;
    if (i % 8 == 7)
      server.say(
          {"EVAL", "for _, name in ipairs(redis.call('KEYS', '*{*}:*')) do redis.call('UNLINK', name) end", "0"});
    if (i % 8 == 7) caller->put_now(kSpace, blocks_of(1, 8));
  }
  CHECK(late > 0);
  until_it_works(*caller);
}

TEST_CASE("a paused server is late, and a flushed one has nothing") {
  if (server_program().empty()) return;
  const Server server;
  const auto caller = caller_at(server.address());
  REQUIRE(works(*caller, 1));
  server.say({"CLIENT", "PAUSE", "1000", "ALL"});
  const auto late = caller->wait(caller->get(kSpace, blocks_of(1, 4), 10'000));
  CHECK(late.fates == std::vector<Fate>(4, Fate::late));
  CHECK(count_of(caller->get_now(kSpace, blocks_of(1, 4)), Fate::done) == 4);  // answers are still distinguished
  server.say({"FLUSHALL"});
  CHECK(caller->get_now(kSpace, blocks_of(1, 4)) == std::vector<Fate>(4, Fate::absent));
  until_it_works(*caller);
}

TEST_CASE("a server without room for one more client says so, and is tried again") {
  if (server_program().empty()) return;
  const Server server(Server::Listens::unix_socket, {"--maxclients", "4"});
  const CapturedStderr captured;
  const auto caller = caller_at(server.address());
  {
    const UniqueFd others[] = {server.connect(), server.connect(), server.connect(), server.connect()};
    CHECK(!works(*caller, 1));
    CHECK(captured.text().find("max number of clients reached") != std::string::npos);
  }
  until_it_works(*caller);
}

TEST_CASE("answers that are harmed on their way end calls, and harm nothing else") {
  if (server_program().empty()) return;
  const Server server;
  Middle middle(server.address());
  const CapturedStderr captured;
  for (const std::uint64_t record_bytes : {std::uint64_t{8192}, kLarge}) {
    const auto caller = caller_at(middle.address(), record_bytes, "", 24);
    until_it_works(*caller);
    REQUIRE(count_of(caller->put_now(kSpace, blocks_of(1, 4)), Fate::done) == 4);
    using Harm = Middle::Harm;
    for (const Harm harm : {Harm::dribble, Harm::truncate, Harm::nonsense, Harm::silence, Harm::flip}) {
      CAPTURE(static_cast<int>(harm));
      if (harm == Harm::silence && record_bytes == kLarge) continue;  // it takes seconds until a server is given up
      middle.harm(harm);
      for (std::uint32_t i = 0; i < 3; ++i) {
        // The caller would say that a flipped bit makes another record: a get of its own pays no attention to bytes.
        begin_some(*caller, 200, harm == Harm::silence ? 20'000 : 100'000);
        caller->wait_all();
        if (harm != Harm::flip) caller->wait(caller->get(kSpace, blocks_of(1, 4), 100'000));
      }
      middle.harm(Harm::none);
      until_it_works(*caller);
    }
  }
}
