/// An engine whose storage is in trouble: what its calls take, how long requests wait, and when hits come back. The
/// times are printed and not compared, since the machine has its part in them; what is compared holds on any machine.
#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <replay/content.h>
#include <support/engines.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "middle.h"
#include "server.h"
#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPrompts = 40;
constexpr std::uint64_t kFindWithin = 20'000, kWithin = 300'000;  // microseconds

/// The time that a call took, and of it what the thread had a processor for.
struct Took {
  double wall_ms = 0, cpu_ms = 0;
};

double thread_cpu_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Requests one after the other over an engine in real time, whose pools and host tier are too small for them.
class Served {
 public:
  /// `where`: options of the storage.
  explicit Served(const std::string& where) {
    engine_ = engine_of(
        "page_size: 16\nindex: radix\n"
        "groups: { full: { reach: path, capacity: 1024, allocator: free_list, eviction: lru } }\n"
        "store: { host: { layers: 1, streams: { k: 8 } } }\n"
        "model: { name: m, revision: r, dtype: bf16 }\n"
        "tiers: { host: { capacity: 2048 }, storage: { in: { redis: { " +
            where + " } }, within: " + std::to_string(kWithin) + "us } }\n",
        {}, nullptr, [](EngineConfig& config) {
          config.storage_tier.kept_free_percent = 50;
          config.storage_tier.distrust_us = 1'000'000;
          config.storage_tier.find_limit_us = kFindWithin;
        });
    content_.emplace(*engine_);
  }

  /// Calls the engine, and records the time of the call.
  template <class Call>
  auto timed(Call&& call) {
    const auto start = Clock::now();
    const double cpu = thread_cpu_ms();
    auto answer = call();
    const Took took{std::chrono::duration<double, std::milli>(Clock::now() - start).count(), thread_cpu_ms() - cpu};
    if (took.wall_ms > worst.wall_ms) worst = took;
    worst_cpu_ms = std::max(worst_cpu_ms, took.cpu_ms);
    return answer;
  }

  void request() { request(random_.below(kPrompts)); }
  /// A request for one of the prompts, of 20 pages. Whether the storage had something of it.
  bool request(std::uint64_t which) {
    const std::uint64_t hits_before = hits();
    const auto prompt = tokens(static_cast<Token>(which * 1000), 321);
    const RequestSpec spec = arrival(prompt);
    turn();
    const std::uint64_t begun_us = now_us();
    Fetch fetch = timed([&] { return engine_->tiers().fetch(spec); });
    // A turn sees the end of what it was late for, another one that of the copy up.
    for (int turns_after = 0; !fetch.ready();) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::uint64_t now = turn();
      if (now < begun_us + kFindWithin + kWithin) continue;
      if (++turns_after == 4) {
        ++later;
        break;
      }
    }
    longest_wait_ms = std::max(longest_wait_ms, static_cast<double>(now_us() - begun_us) / 1e3);
    Request request = timed([&] { return engine_->begin(spec, std::move(fetch)); });
    replay::Trail trail(spec.space);
    trail.follow(prompt);
    content_->check(request, trail, 0, request.matched());
    if (!timed([&] { return request.reserve(321); })) return false;
    content_->write(request, trail, request.matched(), 321);
    timed([&] { return request.finish(321), 0; });
    ++requests;
    return hits() > hits_before;
  }
  void serve_for(std::chrono::milliseconds time) {
    for (const auto start = Clock::now(); Clock::now() - start < time;) request();
  }
  /// Seconds until a request finds something from the storage again; a negative number: none did.
  double until_hits() {
    const auto start = Clock::now();
    const std::uint64_t before = hits();
    while (Clock::now() - start < std::chrono::seconds(60)) {
      request();
      if (hits() > before) return std::chrono::duration<double>(Clock::now() - start).count();
    }
    return -1;
  }
  std::uint64_t hits() const { return engine_->tiers().counters()[Counter::hit_tokens_storage]; }
  std::uint64_t violations() {
    engine_->audit();
    return engine_->ledger().violations() + content_->violations() + state_of(*engine_).below->ledger.violations();
  }
  void forget_times() { worst = {}, worst_cpu_ms = longest_wait_ms = 0; }

  std::uint64_t requests = 0, later = 0;
  Took worst;               ///< the call that took longest
  double worst_cpu_ms = 0;  ///< the most that any call computed
  double longest_wait_ms = 0;

 private:
  std::uint64_t now_us() const {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_).count());
  }
  std::uint64_t turn() {
    const std::uint64_t now = now_us();
    timed([&] { return engine_->turn(now), 0; });
    return now;
  }
  std::unique_ptr<Engine> engine_;
  std::optional<replay::Content> content_;
  Random random_{7};
  Clock::time_point start_ = Clock::now();
};

struct Trouble {
  const char* name;
  std::function<void()> begin, end;
};

}  // namespace

TEST_CASE("an engine serves while its storage is in trouble, no request waits past its time, and hits come back") {
  if (server_program().empty()) return;
  Server server;
  Middle middle(server.address());
  const CapturedStderr captured;
  Served served("at: '" + middle.address() + "'");
  served.serve_for(std::chrono::milliseconds(500));
  REQUIRE(served.until_hits() >= 0);

  const auto nothing = [] {};
  const auto harm = [&](Middle::Harm how) { return [&middle, how] { middle.harm(how); }; };
  const auto well = harm(Middle::Harm::none);
  const auto limit = [&](const char* bytes) {
    return [&server, bytes] { server.say({"CONFIG", "SET", "maxmemory", bytes}); };
  };
  const Trouble troubles[] = {
      {"none", nothing, nothing},
      {"killed, back empty", [&] { server.kill(); }, [&] { server.start(); }},
      {"stopped", [&] { server.stop(); }, [&] { server.go_on(); }},
      {"paused", [&] { server.say({"CLIENT", "PAUSE", "400", "ALL"}); }, nothing},
      {"full", limit("1mb"), limit("0")},
      {"flushed", [&] { server.say({"FLUSHALL"}); }, nothing},
      {"swapped and harmed",
       [&] {
         server.say(
             {"EVAL",
              "local names = redis.call('KEYS', 'c1:*{*}:*') "
              "for i = 1, #names - 3, 3 do "
              "redis.call('RENAME', names[i], 'other') redis.call('RENAME', names[i + 1], names[i]) "
              "redis.call('RENAME', 'other', names[i + 1]) redis.call('SETRANGE', names[i + 2], 5000, 'xyz') end "
              "return #names",
              "0"});
       },
       [&] { server.say({"FLUSHALL"}); }},
      {"dribbles", harm(Middle::Harm::dribble), well},
      {"flips bits", harm(Middle::Harm::flip), well},
      {"cuts answers", harm(Middle::Harm::truncate), well},
      {"answers nonsense", harm(Middle::Harm::nonsense), well},
      {"is silent", harm(Middle::Harm::silence), well},
  };
  std::string table =
      "trouble             requests  worst call (of it computing)  most computing  longest wait  hits after\n";
  for (const Trouble& trouble : troubles) {
    CAPTURE(trouble.name);
    served.requests = 0;
    served.forget_times();
    trouble.begin();
    served.serve_for(std::chrono::milliseconds(200 + with_effort(600)));
    trouble.end();
    const double back_s = served.until_hits();
    CHECK(back_s >= 0);
    CHECK(served.later == 0);
    CHECK(served.violations() == 0);
    char row[160];
    std::snprintf(row, sizeof(row), "%-20s%8llu%12.2f ms%12.2f ms%14.2f ms%11.1f ms%9.2f s\n", trouble.name,
                  static_cast<unsigned long long>(served.requests), served.worst.wall_ms, served.worst.cpu_ms,
                  served.worst_cpu_ms, served.longest_wait_ms, back_s);
    table += row;
  }
  MESSAGE(table);
}

namespace {

/// Prompts whose records lie on a server: the storage gets them from there. All are in the storage when this returns.
std::vector<std::uint64_t> prompts_on(const Server& server, Served& served) {
  std::vector<std::uint64_t> there;
  for (std::uint64_t prompt = 0; prompt < kPrompts; ++prompt) {
    const auto gets = [&] { return server.info("commandstats", "cmdstat_get:calls="); };
    bool found = false;
    for (int i = 0; i < 200 && !found; ++i) {
      const std::uint64_t before = gets();
      found = served.request(prompt);
      // The epoch of a space is one such command now and then; a prompt has 20 records.
      if (found && gets() > before + 5) there.push_back(prompt);
      for (std::uint64_t other = 1; other < 12; ++other) served.request((prompt + other) % kPrompts);  // it leaves
    }
    CHECK_MESSAGE(found, "prompt ", prompt);
  }
  return there;
}

}  // namespace

TEST_CASE("an engine serves while its cluster loses a master, and has what lay there again from the replica") {
  if (server_program().empty()) return;
  Cluster cluster;
  const CapturedStderr captured;
  Served served("at: '" + cluster.addresses() + "', cluster: true");
  REQUIRE(served.until_hits() >= 0);
  Server& master = cluster.node(2);
  const Server& replica = cluster.node(5);
  const std::vector<std::uint64_t> lost = prompts_on(master, served);
  REQUIRE(lost.size() > 1);
  REQUIRE(lost.size() < kPrompts);
  const auto offset = [](const Server& of) { return of.info("replication", "master_repl_offset:"); };
  for (int i = 0; i < 500 && offset(replica) < offset(master); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  served.requests = served.later = 0;
  served.forget_times();

  master.kill();
  const auto killed = Clock::now();
  const auto passed_s = [&] { return std::chrono::duration<double>(Clock::now() - killed).count(); };
  double master_s = -1, back_s = -1, others_s = -1;
  std::uint64_t turn = 0;
  while (back_s < 0 && passed_s() < 60) {
    if (master_s < 0 && replica.say({"INFO", "replication"}).find("role:master") != std::string::npos)
      master_s = passed_s();
    if (served.request(lost[turn++ % lost.size()])) back_s = passed_s();
    for (std::uint64_t prompt = turn % 7; prompt < kPrompts; prompt += 7)
      if (std::find(lost.begin(), lost.end(), prompt) == lost.end() && served.request(prompt) && others_s < 0)
        others_s = passed_s();
  }
  CHECK(back_s >= 0);
  CHECK(master_s >= 0);
  CHECK(others_s >= 0);
  CHECK(served.later == 0);
  CHECK(served.violations() == 0);
  char row[400];
  std::snprintf(row, sizeof(row),
                "a master of three was killed, with %zu of 40 prompts: its replica was master after %.2f s, hits of "
                "what lay there after %.2f s, of the rest after %.2f s; %llu requests, worst call %.2f ms (%.2f ms of "
                "it computing), most computing %.2f ms, longest wait %.1f ms",
                lost.size(), master_s, back_s, others_s, static_cast<unsigned long long>(served.requests),
                served.worst.wall_ms, served.worst.cpu_ms, served.worst_cpu_ms, served.longest_wait_ms);
  MESSAGE(row);
}
