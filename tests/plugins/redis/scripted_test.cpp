/// The storage's results for answers that a real server rarely gives. There is no real server here.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <redis/calls.h>
#include <support/forked_storage.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>

#include "scripted.h"
#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

using Received = ScriptedServer::Received;
using Answer = std::optional<std::string>;

constexpr std::uint64_t kPatience = 5'000'000;  // microseconds: only what is wrong takes as long

/// Returns true if the condition becomes true within some seconds.
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
  server.script([&](const Received& received) {
    return received.words[0] == "CLUSTER" ? Answer() : "-MOVED 1 " + server.address() + "\r\n";
  });
  const CapturedStderr captured;
  const auto caller = caller_at(server.address(), 8192, "cluster: true");
  const auto call = caller->wait(caller->get(kSpace, blocks_of(1, 1), 2'000'000));
  CHECK(call.fates == std::vector<Fate>{Fate::failed});  // and not late
  // The epoch is asked for with two commands, and the record with one: six times each.
  CHECK(server.received("GET") + server.received("SET") <= 3 * 6);
}

TEST_CASE("scripted: what has moved is asked for where it is, from then on there alone") {
  ScriptedServer owner;
  ScriptedServer former([&](const Received& received) {
    return received.words[0] == "CLUSTER" ? Answer() : "-MOVED 1 " + owner.address() + "\r\n";
  });
  const auto caller = caller_at(former.address(), 8192, "cluster: true");
  CHECK(fates_of_put(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  CHECK(owner.records() == 1);
  CHECK(former.records() == 0);
  const std::uint64_t before = former.received("GET");
  CHECK(fates_of(*caller, blocks_of(1, 1)) == std::vector<Fate>{Fate::done});
  CHECK(former.received("GET") == before);
}

TEST_CASE("scripted: a slot that is on its way is asked for with ASKING, and its owner stays its owner") {
  std::atomic<int> strayed = 0, requested = 0;
  ScriptedServer *from = nullptr, *to = nullptr;
  ScriptedServer takes([&](const Received& received) -> Answer {
    if (!is_of_record(received) || received.asking) return {};
    ++strayed;
    return "-MOVED 1 " + from->address() + "\r\n";
  });
  to = &takes;
  ScriptedServer gives([&](const Received& received) -> Answer {
    if (!is_of_record(received)) return {};
    ++requested;
    return "-ASK 1 " + to->address() + "\r\n";
  });
  from = &gives;
  const auto caller = caller_at(gives.address(), 8192, "cluster: true");
  CHECK(fates_of_put(*caller, blocks_of(1, 3)) == std::vector<Fate>(3, Fate::done));
  CHECK(fates_of(*caller, blocks_of(1, 3)) == std::vector<Fate>(3, Fate::done));
  CHECK(takes.records() == 3);
  CHECK(requested == 3 * 3);  // EXISTS, SET, GET
  CHECK(strayed == 0);
}

TEST_CASE("scripted: a put that waits for its epoch when the namespace is flushed is not kept") {
  ScriptedServer server;
  std::atomic<int> requested = 0;
  server.script([&](const Received& received) -> Answer {
    if (is_of_record(received) || (received.words[0] != "SET" && received.words[0] != "GET") || ++requested > 3)
      return {};
    // The epoch is offered and read, and then set by the flush: all are answered at once.
    return requested < 3 ? "" : "+OK\r\n$16\r\n0123456789abcdef\r\n+OK\r\n";
  });
  const auto caller = caller_at(server.address(), 8192, "connections: 1");
  const std::uint64_t put = caller->put(kSpace, blocks_of(1, 1), kPatience);
  REQUIRE(at_last([&] { return requested == 2; }));
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
  int requested = 0;
  server.script([&](const Received& received) -> Answer {
    if (received.words[0] != "GET" || !is_of_record(received)) return {};
    if (++requested == 1) return "";
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
  // An answer without one key means nothing for the others.
  int requested = 0;
  server.script([&](const Received& received) {
    return received.words[0] == "EXISTS" && requested++ == 0 ? Answer("-ERR not now\r\n") : Answer();
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
  server.script([&](const Received& received) {
    return received.words[0] == "GET" && gets++ == 0 ? Answer(ScriptedServer::kHangUp) : Answer();
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
  ScriptedServer server([&](const Received& received) {
    const bool refused = received.words[0] == "SET" && is_of_record(received) && ++puts == 2;
    return refused ? Answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n") : Answer();
  });
  const auto caller = caller_at(server.address());
  CHECK(fates_of_put(*caller, blocks_of(1, 3)) == std::vector<Fate>{Fate::done, Fate::full, Fate::full});
  CHECK(at_last([&] { return server.records() == 1; }));
  CHECK(caller->find_now(kSpace, blocks_of(1, 3)) == 1);
}

TEST_CASE("scripted: flushed records are not found again, although the new server does not know of the flush") {
  ScriptedServer server;
  const auto caller = caller_at(server.address(), 8192, "refresh: 1s");
  REQUIRE(fates_of_put(*caller, blocks_of(1, 2)) == std::vector<Fate>(2, Fate::done));
  // A replica that takes over with what it had before: the epoch of then, and the records.
  server.script([&](const Received& received) -> Answer {
    if (received.words[0] == "SET" && !is_of_record(received) && received.words.size() == 3)
      return "+OK\r\n";  // and lost
    return {};
  });
  CHECK(caller->storage().flush(kSpace));
  for (int i = 0; i < 12; ++i) {
    CHECK(caller->find_now(kSpace, blocks_of(1, 2)) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

TEST_CASE("scripted: a forked child leaves connections and thread to its parent, with what is under way") {
  ScriptedServer server;
  // The server is in this process, and the child has its sockets: what is counted is the storage's.
  const auto own = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(entry, gone).string().starts_with("anon_inode:");
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      const int descriptor = std::stoi(entry.path().filename());
      count += ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
               server.address() == "127.0.0.1:" + std::to_string(ntohs(peer.sin_port));
    }
    return count;
  };
  const auto closed = [&, before = own()] { return own() == before; };
  const auto caller = caller_at(server.address());
  REQUIRE(fates_of_put(*caller, blocks_of(1, 2)) == std::vector<Fate>(2, Fate::done));
  CHECK_FALSE(closed());
  server.script([](const Received& received) { return received.words[0] == "GET" ? Answer("") : Answer(); });
  const std::uint64_t pending = caller->get(kSpace, blocks_of(1, 2), 200'000);
  CHECK(is_left_to_its_parent(*caller, kSpace, closed));
  CHECK(caller->wait(pending).fates == std::vector<Fate>(2, Fate::late));
  CHECK(caller->find_now(kSpace, blocks_of(1, 2)) == 2);
  CHECK(is_left_to_its_parent(*caller, kSpace, closed));
  // And nothing that the child did keeps the thread awake.
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(std::clock() - before < CLOCKS_PER_SEC / 10);
}

TEST_CASE("scripted: of two flushes of a namespace each ends by the reply to its own, or to the later one") {
  std::atomic<int> set = 0;
  ScriptedServer server([&](const Received& received) -> Answer {
    const bool flushes = received.words[0] == "SET" && received.words.size() == 3;
    if (!flushes) return {};
    switch (++set) {
      case 1:
        return "+OK\r\n";
      case 2:
        return "";  // not yet
      default:
        return "+OK\r\n+OK\r\n";
    }
  });
  AsyncCalls<redis::Call> unused;
  redis::Mailbox mailbox(unused);
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  auto at = redis::read_addresses(server.address());
  REQUIRE(at);
  redis::Calls calls(context_of(8192), {.servers = *at, .cluster = false, .credentials = {}, .record_bytes = 8192},
                     10'000'000, mailbox, epoll.get());
  redis::Micros now = 0;
  const auto turn_until = [&](auto&& what) {
    return at_last([&] {
      std::array<epoll_event, 16> events;
      calls.set_time(now += 1'000);
      calls.turn();
      const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), 5);
      for (int i = 0; i < count; ++i)
        calls.on_event(events[static_cast<std::size_t>(i)].data.ptr, events[static_cast<std::size_t>(i)].events);
      return what();
    });
  };
  std::array<redis::Call*, 4> flushes{};
  const auto flush = [&](std::size_t i) {
    flushes[i] = &mailbox.own(redis::Call::Kind::flush, kSpace, {}, 0);
    calls.begin(*flushes[i]);
  };
  flush(0), flush(1);
  CHECK(turn_until([&] { return flushes[0]->fates[0] == Fate::done; }));
  CHECK(turn_until([&] { return set == 2; }));
  CHECK(flushes[1]->fates[0] == Fate::failed);  // that is: not ended
  flush(2);
  CHECK(turn_until([&] { return flushes[2]->fates[0] == Fate::done; }));
  CHECK(flushes[1]->fates[0] == Fate::done);
}

TEST_CASE("scripted: a namespace that is flushed again and again does not take more memory") {
  struct User final : redis::CommandUser {
    bool encode(redis::Command&, redis::Outbox&) override { return false; }
    std::byte* place(const redis::Command&, std::uint64_t) override { return nullptr; }
    void answer(const redis::Command&, const redis::Element&) override {}
    void fail(const redis::Command& command) override { redis::Epochs::fail(command); }
    void say(const std::string&) override {}
  } user;
  redis::Network network(
      {.servers = {{.host = {}, .port = 0, .path = "/nowhere"}}, .cluster = false, .credentials = {}}, user, -1);
  network.set_time(1);
  redis::Epochs epochs(network, 1'000'000);
  redis::Call call;
  call.space = kSpace;
  for (int i = 0; i < 5'000; ++i) {
    epochs.flush(call, 1);
    epochs.use(kSpace, 1).flushes.clear();
  }
  CHECK(epochs.use(kSpace, 1).dead.size() == 1'000);
}
