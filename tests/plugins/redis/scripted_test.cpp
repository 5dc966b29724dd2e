/// What the storage makes of answers that a real server gives once in a while. There is no real server here.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "scripted.h"
#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

using Heard = ScriptedServer::Heard;
using Answer = std::optional<std::string>;

constexpr std::uint64_t kPatience = 5'000'000;  // microseconds: only what is wrong takes as long

/// Whether it becomes true within some seconds.
template <class What>
bool at_last(What&& what) {
  for (int i = 0; i < 200; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

std::vector<Fate> fates_of_put(StorageCaller& caller, const Keys& keys) {
  return caller.wait(caller.put(kSpace, keys, kPatience)).fates;
}
std::vector<Fate> fates_of(StorageCaller& caller, const Keys& keys) {
  return caller.wait(caller.get(kSpace, keys, kPatience)).fates;
}

}  // namespace

TEST_CASE("scripted: what is moved again and again is followed a few times, and then it has failed") {
  ScriptedServer server;
  server.script([&](const Heard& heard) {
    return heard.words[0] == "CLUSTER" ? Answer() : "-MOVED 1 " + server.address() + "\r\n";
  });
  const CapturedStderr captured;
  const auto caller = caller_at(server.address(), 8192, "cluster: true");
  const auto call = caller->wait(caller->get(kSpace, blocks_of(1, 1), 2'000'000));
  CHECK(call.fates == std::vector<Fate>{Fate::failed});  // and not late
  // The epoch is asked for with two commands, and the record with one: six times each.
  CHECK(server.heard("GET") + server.heard("SET") <= 3 * 6);
}

TEST_CASE("scripted: what has moved is asked for where it is, from then on there alone") {
  ScriptedServer owner;
  ScriptedServer asked([&](const Heard& heard) {
    return heard.words[0] == "CLUSTER" ? Answer() : "-MOVED 1 " + owner.address() + "\r\n";
  });
  const auto caller = caller_at(asked.address(), 8192, "cluster: true");
  CHECK(fates_of_put(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  CHECK(owner.records() == 1);
  CHECK(asked.records() == 0);
  const std::uint64_t before = asked.heard("GET");
  CHECK(fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  CHECK(asked.heard("GET") == before);
}

TEST_CASE("scripted: a slot that is on its way is asked for with ASKING, and its owner stays its owner") {
  std::atomic<int> strayed = 0, asked = 0;
  ScriptedServer *from = nullptr, *to = nullptr;
  ScriptedServer takes([&](const Heard& heard) -> Answer {
    if (!is_of_record(heard) || heard.asking) return {};
    ++strayed;
    return "-MOVED 1 " + from->address() + "\r\n";
  });
  to = &takes;
  ScriptedServer gives([&](const Heard& heard) -> Answer {
    if (!is_of_record(heard)) return {};
    ++asked;
    return "-ASK 1 " + to->address() + "\r\n";
  });
  from = &gives;
  const auto caller = caller_at(gives.address(), 8192, "cluster: true");
  CHECK(fates_of_put(*caller, blocks_of(1, 3)) == std::vector<Fate>(3, Fate::done));
  CHECK(fates_of(*caller, blocks_of(1, 3)) == std::vector<Fate>(3, Fate::done));
  CHECK(takes.records() == 3);
  CHECK(asked == 3 * 3);  // EXISTS, SET, GET
  CHECK(strayed == 0);
}

TEST_CASE("scripted: a put that waits for its epoch when the namespace is flushed is not kept") {
  ScriptedServer server;
  std::atomic<int> asked = 0;
  server.script([&](const Heard& heard) -> Answer {
    if (is_of_record(heard) || (heard.words[0] != "SET" && heard.words[0] != "GET") || ++asked > 3) return {};
    // The epoch is offered and read, and then set by the flush: all are answered at once.
    return asked < 3 ? "" : "+OK\r\n$16\r\n0123456789abcdef\r\n+OK\r\n";
  });
  const auto caller = caller_at(server.address(), 8192, "connections: 1");
  const std::uint64_t put = caller->put(kSpace, blocks_of(1, 1), kPatience);
  REQUIRE(at_last([&] { return asked == 2; }));
  CHECK(caller->storage().flush(kSpace));
  CHECK(caller->wait(put).fates == std::vector<Fate>{Fate::failed});
  CHECK(server.records() == 0);
  CHECK(caller->find_now(kSpace, blocks_of(1, 1)) == 0);
  CHECK(fates_of_put(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
}

TEST_CASE("scripted: a call ends when its time is over, and its answer is nothing else's when it comes") {
  ScriptedServer server;
  const auto caller = caller_at(server.address(), 8192, "connections: 1");
  const Keys first = blocks_of(1, 1), second = blocks_of(2, 1);
  REQUIRE(fates_of_put(*caller, first) == std::vector<Fate>{Fate::done});
  std::string record;
  server.change([&](std::string& value) { record = value; });
  REQUIRE(fates_of_put(*caller, second) == std::vector<Fate>{Fate::done});
  int asked = 0;
  server.script([&](const Heard& heard) -> Answer {
    if (heard.words[0] != "GET" || !is_of_record(heard)) return {};
    if (++asked == 1) return "";
    // The answer that was held back, and that this one is not there.
    return "$8192\r\n" + record + "\r\n$-1\r\n";
  });
  CHECK(caller->wait(caller->get(kSpace, first, 50'000)).fates == std::vector<Fate>{Fate::late});
  CHECK(fates_of(*caller, second) == std::vector<Fate>{Fate::absent});
  caller->check_memory();
}

TEST_CASE("scripted: each answer is that of the command before it in line") {
  ScriptedServer server;
  const auto caller = caller_at(server.address(), 8192, "connections: 1");
  REQUIRE(fates_of_put(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  const Keys keys{blocks_of(1, 1)[0], blocks_of(2, 1)[0], blocks_of(3, 1)[0]};
  CHECK(fates_of(*caller, keys) == std::vector<Fate>{Fate::done, Fate::absent, Fate::absent});
  CHECK(caller->find_each_now(kSpace, keys) == std::vector<Fate>{Fate::done, Fate::absent, Fate::absent});
  // What one key is not answered for says nothing about the others.
  int asked = 0;
  server.script([&](const Heard& heard) {
    return heard.words[0] == "EXISTS" && asked++ == 0 ? Answer("-ERR not now\r\n") : Answer();
  });
  CHECK(caller->find_each_now(kSpace, keys) == std::vector<Fate>{Fate::failed, Fate::absent, Fate::absent});
}

TEST_CASE("scripted: a value of another length is no record, and is removed") {
  for (const std::size_t bytes : {std::size_t{8191}, std::size_t{8193}, std::size_t{0}}) {
    CAPTURE(bytes);
    ScriptedServer server;
    const auto caller = caller_at(server.address());
    REQUIRE(fates_of_put(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
    server.change([&](std::string& value) { value.resize(bytes, 'x'); });
    CHECK(fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::absent});
    caller->check_memory();
    CHECK(at_last([&] { return server.records() == 0; }));
  }
}

TEST_CASE("scripted: a server that was away is tried again, and so is a command whose connection was closed") {
  ScriptedServer server;
  const CapturedStderr captured;
  const auto caller = caller_at(server.address(), 8192, "connections: 1");
  REQUIRE(fates_of_put(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  REQUIRE(fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  std::atomic<int> gets = 0;
  server.script([&](const Heard& heard) {
    return heard.words[0] == "GET" && gets++ == 0 ? Answer(ScriptedServer::kHangUp) : Answer();
  });
  CHECK(fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  CHECK(gets == 2);
  server.stop();
  CHECK(fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::failed});
  server.start();
  CHECK(at_last([&] { return fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done}; }));
}

TEST_CASE("scripted: behind a record that a full server refuses, none is kept") {
  std::atomic<int> puts = 0;
  ScriptedServer server([&](const Heard& heard) {
    const bool refused = heard.words[0] == "SET" && is_of_record(heard) && ++puts == 2;
    return refused ? Answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n") : Answer();
  });
  const auto caller = caller_at(server.address());
  CHECK(fates_of_put(*caller, blocks_of(1, 3)) == std::vector<Fate>{Fate::done, Fate::full, Fate::full});
  CHECK(at_last([&] { return server.records() == 1; }));
  CHECK(caller->find_now(kSpace, blocks_of(1, 3)) == 1);
}

TEST_CASE("scripted: what was flushed is not found again, although the server that comes in has not heard of it") {
  ScriptedServer server;
  const auto caller = caller_at(server.address(), 8192, "refresh: 1s");
  REQUIRE(fates_of_put(*caller, blocks_of(1, 2)) == std::vector<Fate>(2, Fate::done));
  // A replica that takes over with what it had before: the epoch of then, and the records.
  server.script([&](const Heard& heard) -> Answer {
    if (heard.words[0] == "SET" && !is_of_record(heard) && heard.words.size() == 3) return "+OK\r\n";  // and lost
    return {};
  });
  CHECK(caller->storage().flush(kSpace));
  for (int i = 0; i < 12; ++i) {
    CHECK(caller->find_now(kSpace, blocks_of(1, 2)) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}
