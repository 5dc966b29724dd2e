/// The storage redis over a real server.
#include <canopy/base/random.h>
#include <redis/record_name.h>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "contract.h"
#include "server.h"
#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

void wait_until(auto&& fact) {
  bool holds = fact();
  for (int i = 0; i < 1500 && !holds; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    holds = fact();
  }
  CHECK(holds);
}

}  // namespace

TEST_CASE("the contract of PageStorage holds over a server") {
  if (server_program().empty()) return;
  const Server server;
  check_contract("at: " + server.address());
}

TEST_CASE("find asks for heads of blocks first, and is right about holes") {
  if (server_program().empty()) return;
  const Server server;
  const auto caller = caller_at(server.address(), 4096, "", 300);
  const Keys keys = blocks_of(1, 300);
  REQUIRE(count_of(caller->put_now(kSpace, keys), Fate::done) == 300);
  const std::uint64_t before = server.info("commandstats", "cmdstat_exists:calls=");
  CHECK(caller->find_now(kSpace, keys) == 300);
  // Five heads, four blocks as a whole, and the records of the last one.
  CHECK(server.info("commandstats", "cmdstat_exists:calls=") - before == 5 + 4 + 43);
  for (const std::uint32_t hole : {299u, 260u, 256u, 130u, 128u, 127u, 65u, 64u, 1u, 0u}) {
    caller->storage().remove(kSpace, Keys{keys[hole]});
    CHECK(caller->find_now(kSpace, keys) == hole);
    // From within a block too.
    if (hole > 70) CHECK(caller->find_now(kSpace, {keys.begin() + 70, keys.end()}) == hole - 70);
  }
}

TEST_CASE("a record that is there is not sent again") {
  if (server_program().empty()) return;
  const Server server;
  const auto caller = caller_at(server.address(), 64 << 10);
  caller->put_now(kSpace, blocks_of(1, 16));
  const std::uint64_t before = server.info("stats", "total_net_input_bytes:");
  CHECK(count_of(caller->put_now(kSpace, blocks_of(1, 17)), Fate::done) == 17);
  const std::uint64_t sent = server.info("stats", "total_net_input_bytes:") - before;
  CHECK(sent > 64 << 10);
  CHECK(sent < 2 * (64 << 10));
}

TEST_CASE("a flush is seen at once by those that come after it, and soon by others") {
  if (server_program().empty()) return;
  const Server server;
  const auto flushes = caller_at(server.address()), sees = caller_at(server.address(), 8192, "refresh: 1s");
  const Keys keys = blocks_of(1, 8);
  flushes->put_now(kSpace, keys);
  REQUIRE(sees->find_now(kSpace, keys) == 8);
  REQUIRE(flushes->storage().flush(kSpace));
  CHECK(flushes->find_now(kSpace, keys) == 0);
  CHECK(caller_at(server.address())->find_now(kSpace, keys) == 0);
  wait_until([&] { return sees->find_now(kSpace, keys) == 0; });
  // All agree on what is put from now on.
  sees->put_now(kSpace, keys);
  CHECK(flushes->find_now(kSpace, keys) == 8);
  // Records that are lost with the server's memory do not come back by their old names.
  server.say({"FLUSHALL"});
  wait_until(
      [&] { return sees->find_now(kSpace, keys) == 0 && count_of(sees->put_now(kSpace, keys), Fate::done) == 8; });
  REQUIRE(caller_at(server.address())->storage().flush(kSpace));
  CHECK(caller_at(server.address())->find_now(kSpace, keys) == 0);
}

TEST_CASE("an epoch that the server lost takes its records with it, and a flush never comes undone") {
  if (server_program().empty()) return;
  const Server server;
  const Keys keys = blocks_of(1, 4);
  caller_at(server.address())->put_now(kSpace, keys);
  CHECK(caller_at(server.address())->find_now(kSpace, keys) == 4);
  redis::RecordNames names(context_of(8192));
  const std::string epoch(names.epoch(kSpace));
  REQUIRE(server.say({"DEL", epoch}) == "integer 1 .\n");
  CHECK(caller_at(server.address())->find_now(kSpace, keys) == 0);

  // A server that takes over without knowing of the flush gets it again.
  const std::string reply = server.say({"GET", epoch});
  const std::string old = reply.substr(reply.size() - 18, 16);
  const auto caller = caller_at(server.address(), 8192, "refresh: 1s");
  caller->put_now(kSpace, keys);
  REQUIRE(caller->storage().flush(kSpace));
  server.say({"SET", epoch, old});
  CHECK(caller_at(server.address())->find_now(kSpace, keys) == 4);
  wait_until([&] {
    CHECK(caller->find_now(kSpace, keys) == 0);
    return server.say({"GET", epoch}).find(old) == std::string::npos;
  });
  CHECK(caller_at(server.address())->find_now(kSpace, keys) == 0);
}

TEST_CASE("records are kept as long as they are asked to be") {
  if (server_program().empty()) return;
  const Server server;
  const auto storage = make<PageStorage>("redis", context_of(4096), "{ at: " + server.address() + " }");
  alignas(4096) static std::byte record[4096];
  const std::byte* const records[] = {record};
  const Keys keys = blocks_of(1, 1);
  storage->put(1, kSpace, keys, records, 10'000'000, 1000);
  StorageDone done;
  while (storage->poll({&done, 1}) == 0) std::this_thread::yield();
  CHECK(done.fate == Fate::done);
  const std::string reply = server.say({"EVAL",
                                        "for _, name in ipairs(redis.call('KEYS', '*')) do local t = "
                                        "redis.call('TTL', name) if t > 0 then return t end end",
                                        "0"});
  CHECK((reply == "integer 1000 .\n" || reply == "integer 999 .\n" || reply == "integer 998 .\n"));
}

TEST_CASE("a full server is full, nothing is kept behind what it refused, and it may have room again") {
  if (server_program().empty()) return;
  const Server server(Server::Listens::unix_socket, {"--maxmemory", "6mb"});
  const auto caller = caller_at(server.address(), 256 << 10, "", 40);
  const auto fates = caller->put_now(kSpace, blocks_of(1, 40));
  const std::size_t kept = count_of(fates, Fate::done);
  CHECK(kept > 0);
  CHECK(count_of(fates, Fate::full) == 40 - kept);
  CHECK(caller->find_now(kSpace, blocks_of(1, 40)) == kept);
  for (std::uint32_t page = 0; page < 40; ++page)
    CHECK(caller->find_now(kSpace, blocks_of(1, 1, page)) == (page < kept ? 1 : 0));
  server.say({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(count_of(caller->put_now(kSpace, blocks_of(1, 40)), Fate::done) == 40);

  // A server that takes nothing at all, not even the epoch of a space.
  server.say({"FLUSHALL"});
  server.say({"CONFIG", "SET", "maxmemory", "1"});
  const auto late_comer = caller_at(server.address(), 256 << 10);
  CHECK(late_comer->put_now(kSpace, blocks_of(1, 2)) == std::vector<Fate>(2, Fate::full));
  CHECK(late_comer->find_now(kSpace, blocks_of(1, 2)) == 0);
}

TEST_CASE("a string that is no record is absent, and makes room for one") {
  if (server_program().empty()) return;
  const Server server;
  const auto caller = caller_at(server.address());
  const Keys keys = blocks_of(1, 3);
  caller->put_now(kSpace, keys);
  for (const char* length : {"10", "8191", "8193", "100000"}) {
    CAPTURE(length);
    server.say({"EVAL",
                "for _, name in ipairs(redis.call('KEYS', '*{*}:*')) do redis.call('SET', name, string.rep('x', " +
                    std::string(length) + ")) end",
                "0"});
    CHECK(caller->get_now(kSpace, keys) == std::vector<Fate>(3, Fate::absent));
    wait_until([&] { return caller->find_now(kSpace, keys) == 0; });
    CHECK(count_of(caller->put_now(kSpace, keys), Fate::done) == 3);
    CHECK(count_of(caller->get_now(kSpace, keys), Fate::done) == 3);
  }
  // Nor is a list.
  server.say({"EVAL",
              "for _, name in ipairs(redis.call('KEYS', '*{*}:*')) do redis.call('DEL', name) "
              "redis.call('LPUSH', name, 'x') end",
              "0"});
  CHECK(caller->get_now(kSpace, keys) == std::vector<Fate>(3, Fate::failed));
}

TEST_CASE("a password is needed, wrong or right, and what is wrong is said once") {
  if (server_program().empty()) return;
  const Server server(Server::Listens::unix_socket, {"--requirepass", "secret"});
  ::setenv("CANOPY_TEST_RIGHT", "secret", 1), ::setenv("CANOPY_TEST_WRONG", "guess", 1);
  const auto stderr_of = [&](const std::string& options, std::size_t kept) {
    const CapturedStderr captured;
    const auto caller = caller_at(server.address(), 8192, options);
    for (std::uint32_t i = 0; i < 4; ++i) CHECK(count_of(caller->put_now(kSpace, blocks_of(i, 3)), Fate::done) == kept);
    return captured.text();
  };
  const auto times = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  CHECK(stderr_of("password_from: CANOPY_TEST_RIGHT", 3).empty());
  CHECK(stderr_of("user: default, password_from: CANOPY_TEST_RIGHT", 3).empty());
  const std::string none = stderr_of("", 0), wrong = stderr_of("password_from: CANOPY_TEST_WRONG", 0);
  CHECK(times(none, "canopy: redis: ") == 1);
  CHECK(none.find("give it a password with `password_from`") != std::string::npos);
  CHECK(times(wrong, "canopy: redis: ") == 1);
  CHECK(wrong.find("is not this server's") != std::string::npos);
  CHECK(wrong.find("guess") == std::string::npos);
}

TEST_CASE("options that cannot be used get a sentence") {
  const auto why = [](const std::string& options) -> std::string {
    try {
      make<PageStorage>("redis", context_of(4096), options);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  };
  CHECK(why("{ at: nowhere }").find("'nowhere' is not the address of a server") != std::string::npos);
  CHECK(why("{ at: 'a:1, b:2' }").find("only those of a cluster belong together") != std::string::npos);
  CHECK(why("{ at: 'a:1', password_from: NO_SUCH_VARIABLE }").find("no variable 'NO_SUCH_VARIABLE'") !=
        std::string::npos);
  CHECK(why("{ at: 'a:1', user: me }").find("`user` needs a password") != std::string::npos);
}
