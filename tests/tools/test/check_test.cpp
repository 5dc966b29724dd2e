#include <bad_plugins/plain_allocator.h>
#include <canopy/plugin.h>
#include <check/campaign.h>
#include <check/composition.h>
#include <check/faulty.h>
#include <check/program.h>
#include <check/subject.h>
#include <check/trial.h>
#include <conformance/model/effort.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <span>

#include <support/engines.h>
#include <support/source_folder.h>

using namespace canopy;
using namespace canopy::test;
using namespace canopy::check;
using canopy::check::Summary;

namespace {

/// Forgets a page of the 12th list that is given back.
class Leaks final : public Plain {
 public:
  bool free(std::span<const Page> pages) override { return Plain::free(++calls_ == 12 ? pages.subspan(1) : pages); }

 private:
  int calls_ = 0;
};

/// Hands out a page of the middle twice once a pool has been small.
class Doubles final : public Plain {
 public:
  bool allocate(std::span<Page> out) override {
    if (!Plain::allocate(out)) return false;
    if (withdrawn_ && out.size() > 1) out[1] = out[0];
    return true;
  }
  void withdraw(Segment segment) override { Plain::withdraw(segment), withdrawn_ = true; }

 private:
  bool withdrawn_ = false;
};

/// Ends the process.
class Crashes final : public Plain {
 public:
  bool allocate(std::span<Page> out) override {
    if (++calls_ == 20) std::raise(SIGSEGV);
    return Plain::allocate(out);
  }

 private:
  int calls_ = 0;
};

/// Throws only once, and records that in a file.
class ThrowsOnce final : public Plain {
 public:
  static std::filesystem::path file() {
    return std::filesystem::temp_directory_path() / ("canopy-throws-once-" + std::to_string(::getppid()));
  }
  bool allocate(std::span<Page> out) override {
    if (++calls_ == 20 && !std::filesystem::exists(file())) {
      std::ofstream(file()) << "thrown";
      throw std::runtime_error("only once");
    }
    return Plain::allocate(out);
  }

 private:
  int calls_ = 0;
};

constexpr CanopyComponent kWrong[] = {provide<SlotAllocator, Plain>("plain", "as it must be"),
                                      provide<SlotAllocator, Leaks>("leaks", "forgets a page"),
                                      provide<SlotAllocator, Doubles>("doubles", "hands out a page twice"),
                                      provide<SlotAllocator, ThrowsOnce>("throws_once", "throws, and then never again"),
                                      provide<SlotAllocator, Crashes>("crashes", "ends the process")};
constinit const CanopyPlugin kPlugin = {kPluginMagic, sizeof(CanopyPlugin),    CANOPY_TOOLCHAIN, "1.0.0",
                                        kWrong,       sizeof(CanopyComponent), std::size(kWrong)};

const Registry& registry() {
  static const Registry all = [] {
    Registry registry;
    registry.scan(own_plugin_folder(), Trust::as_ourselves);
    registry.add(kPlugin, "wrong allocators");
    add_faulty(registry);
    return registry;
  }();
  return all;
}

EngineConfig engine_with(const std::string& allocator) {
  EngineConfig config;
  config.page_size = 4;
  config.groups = {{.name = "full", .capacity = 400, .allocator = {allocator}, .eviction = {"lru"}}};
  return config;
}

Summary campaign(check::Options options) {
  auto summary = check::run(options, registry(), [](double, std::uint64_t) {});
  REQUIRE_MESSAGE(summary, (summary ? "" : summary.error().text));
  return *summary;
}

Verdict verdict_on(const Program& program) {
  return run_apart([&] { return run_here(program, registry()); }, 60, true);
}

/// A program's text with another allocator.
std::string with_allocator(std::string text, const std::string& name, const std::string& other) {
  for (std::size_t at = 0; (at = text.find("allocator: " + name, at)) != text.npos;)
    text.replace(at + 11, name.size(), other);
  return text;
}

}  // namespace

TEST_CASE("check: engines that are drawn stay whole under random requests and faults") {
  const Summary summary = campaign({.seed = 7, .operations = with_effort(150'000), .jobs = 2});
  const Reached& all = summary.reached;
  CHECK_MESSAGE(
      summary.failures.empty(),
      (summary.failures.empty() ? "" : text_of(summary.failures[0].program, {summary.failures[0].found.sentence})));
  MESSAGE(summary.episodes, " engines, ", all.operations, " operations, ", all.requests, " requests, ", all.hits,
          " with hits, ", all.repointed, " tokens re-pointed, ", all.evictions, " evictions, ", all.refused,
          " refused, ", all.retracted, " retracted, ", all.resumed_on_pages, " resumed on pages, ", all.promises,
          " promises kept, ", all.resized, " resized, ", all.blocked, " had to wait, ", all.pinned, " pinned, ",
          all.faults, " faults, ", all.lies, " lies noticed");
  if (effort() < 1) return;
  CHECK(all.hits > 1'000);
  CHECK(all.repointed > 3'500);
  CHECK(all.rematched > 15);
  CHECK(all.evictions > 1'200);
  CHECK(all.refused > 1'000);
  CHECK(all.resumed_on_pages > 250);
  CHECK(all.promises > 1'200);
  CHECK(all.blocked > 10);
  CHECK(all.pinned > 30);
  CHECK(all.faults > 100);
  CHECK(all.lies > 1);
}

TEST_CASE("check: a run depends only on the seed") {
  const check::Options options{.seed = 3, .operations = std::max<std::uint64_t>(with_effort(8'000), 3'000), .jobs = 1};
  check::Options two = options, other = options;
  two.jobs = 2;
  other.seed = 4;
  const Summary first = campaign(options), second = campaign(two), third = campaign(other);
  CHECK(first.reached.digest == second.reached.digest);
  CHECK(first.reached.operations == second.reached.operations);
  CHECK(first.reached.digest != third.reached.digest);
}

TEST_CASE("check: a planted fault of a component is found and shrunk to 30 operations at most, which repeat it") {
  for (const char* wrong : {"leaks", "doubles", "crashes"}) {
    CAPTURE(wrong);
    const Summary summary = campaign({.engines = {engine_with(wrong)}, .seed = 5, .operations = 200'000, .jobs = 2});
    REQUIRE(summary.failures.size() == 1);
    const Failure& failure = summary.failures[0];
    CHECK(failure.found.kind == (std::string(wrong) == "crashes" ? Verdict::Kind::crash : Verdict::Kind::violation));
    CHECK(failure.program.operations.size() <= 30);
    CHECK(failure.program.operations.size() < failure.operations);
    const std::string text = text_of(failure.program, {"about"});
    const auto again = program_of(text, "again", registry());
    REQUIRE_MESSAGE(again, (again ? "" : again.error().text));
    const Verdict verdict = verdict_on(*again);
    CHECK(verdict.kind == failure.found.kind);
    CHECK(verdict.sentence == failure.verdict.sentence);
    const auto mended = program_of(with_allocator(text, wrong, "plain"), "mended", registry());
    REQUIRE(mended);
    const Verdict clean = verdict_on(*mended);
    CHECK_MESSAGE(clean.kind == Verdict::Kind::clean, clean.sentence);
  }
}

TEST_CASE("check: a failure that happens only once is reported with its message") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("canopy-throws-once-" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  const Summary summary =
      campaign({.engines = {engine_with("throws_once")}, .seed = 5, .operations = 100'000, .jobs = 1});
  std::filesystem::remove(file);
  REQUIRE(summary.failures.size() == 1);
  CHECK_FALSE(summary.failures[0].repeats);
  const std::string& sentence = summary.failures[0].found.sentence;  // that of the reservation, or of the allocator
  CHECK_MESSAGE((sentence.find(" was refused") != std::string::npos || sentence.find("only once") != std::string::npos),
                sentence);
}

TEST_CASE("check: an engine's storage is simulated, so that no folder and no server is touched") {
  for (const char* const name : {"tiers_slots", "tiers_hybrid"}) {
    CAPTURE(name);
    const auto config =
        load_engine_config(fmt::format("{}/configs/engines/{}.yaml", kSourceFolder, name), {}, registry());
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    const std::string text = made_small(*config, 1, registry());
    CHECK(text.find("sim_storage") != std::string::npos);
    CHECK(text.find("/var/tmp") == std::string::npos);
    const Summary summary = campaign({.engines = {*config}, .seed = 5, .operations = with_effort(40'000), .jobs = 2});
    CHECK_MESSAGE(summary.failures.empty(), (summary.failures.empty() ? "" : summary.failures[0].found.sentence));
  }
}

TEST_CASE("check: the earliest episode that fails is the one that is reported") {
  const check::Options options{.engines = {engine_with("doubles")}, .seed = 5, .operations = 200'000, .jobs = 1};
  check::Options two = options;
  two.jobs = 2;
  const Summary one = campaign(options), both = campaign(two);
  REQUIRE((one.failures.size() == 1 && both.failures.size() == 1));
  CHECK(one.failures[0].episode == both.failures[0].episode);
  CHECK(one.failures[0].found.sentence == both.failures[0].found.sentence);
}

namespace {

/// Runs a program in this process, up to the first lie that is detected.
void run_lying(const std::string& text, const std::function<void(const Trial&, const Faults&)>& then) {
  auto program = program_of(text, "lies", registry());
  REQUIRE_MESSAGE(program, (program ? "" : program.error().text));
  auto subject = check::Subject::create(program->engine, registry());
  REQUIRE(subject);
  Trial trial(**subject, registry());
  for (const check::Operation& operation : program->operations)
    if (!trial.over()) trial.apply(operation);
  if (!trial.over()) trial.finish();
  then(trial, (*subject)->faults);
}

}  // namespace

TEST_CASE("check: every lie of a component is detected, and a component that does not lie is not reported") {
  const std::string head =
      "engine: { page_size: 2, groups: { full: { reach: path, capacity: 24, allocator: free_list, eviction: lru } },\n"
      "          store: { host: { streams: { kv: 8 } } } }\noperations:\n";
  const std::string body =
      "  - begin 1 leave=0 0 1 2 0 1 2\n  - reserve 1 6\n  - begin 2 leave=0 0 1 2 0 2 2\n  - reserve 2 6\n  - commit "
      "1 6\n"
      "  - commit 2 6\n  - finish 1 6\n  - finish 2 6\n  - begin 3 leave=0 0 1 2 0 1\n  - reserve 3 5\n  - advance 3 "
      "5\n"
      "  - abort 3\n  - room full 12\n  - serve 1 1 1 1\n";
  const auto clean = program_of(head + body, "clean", registry());
  REQUIRE_MESSAGE(clean, (clean ? "" : clean.error().text));
  CHECK(verdict_on(*clean).kind == Verdict::Kind::clean);
  const auto names = lie_names();
  for (const std::string& lie : std::span(names).first(static_cast<std::size_t>(kFirstOfHost))) {
    CAPTURE(lie);
    run_lying(head + "  - lie " + lie + " full 1\n" + body, [](const Trial& trial, const Faults& faults) {
      CHECK(faults.lied);
      CHECK(trial.over());
      CHECK(trial.reached().lies == 1);
    });
  }
}

TEST_CASE("check: what a host tier restores wrongly is detected, and no wrong record of a storage is used") {
  const std::string head =
      "engine: { page_size: 2, groups: { full: { reach: path, capacity: 24, allocator: free_list, eviction: lru } },\n"
      "          store: { host: { streams: { kv: 8 } } }, model: { name: m, revision: r, dtype: d },\n"
      "          tiers: { host: { capacity: 24, write: write_back }, storage: { in: { sim_storage: {} } } } }\n"
      "operations:\n";
  // Each prompt leaves the pool for the host tier, and the earlier ones leave that for the storage; what finds no room
  // in the host tier meanwhile is dropped, so each comes twice.
  std::string body;
  for (const char* const symbol : {"0", "1", "2", "0 1", "1 2", "2 0"}) {
    std::string tokens;
    for (int i = 0; i < (symbol[1] ? 6 : 12); ++i) tokens += std::string(" ") + symbol;
    body += "  - serve" + tokens + " chunk=12\n  - room full 12\n  - turn 100000\n";
  }
  body += body;
  // Fetches prompts, of which at least two are in the storage.
  const auto fetched = [](std::initializer_list<const char*> symbols) {
    std::string text;
    for (const std::string symbol : symbols) {
      std::string tokens;
      for (std::size_t i = 0; i < 12 / ((symbol.size() + 1) / 2); ++i) tokens += " " + symbol;
      const std::string number = std::to_string(static_cast<std::size_t>(symbol[0]) + symbol.size());
      text += "  - fetch " + number + " leave=0" + tokens +
              "\n  - turn 100000\n  - turn 100000\n  - turn 100000\n  - begin " + number + " leave=0" + tokens +
              "\n  - abort " + number + "\n";
    }
    return text;
  };
  const auto before = {"0", "0 1"}, after = {"1", "2", "1 2", "2 0"};
  run_lying(head + body + fetched(before) + fetched(after), [](const Trial& trial, const Faults&) {
    CHECK(trial.engine().tiers().counters()[Counter::loaded_tokens_storage] >= 24);
    CHECK(trial.engine().tiers().counters()[Counter::damaged_records_storage] == 0);
    CHECK(trial.reached().lies == 0);
  });
  const auto names = lie_names();
  for (const std::string& lie : std::span(names).subspan(static_cast<std::size_t>(kFirstOfHost))) {
    CAPTURE(lie);
    const bool of_host = lie == "wrong_image";
    run_lying(head + body + fetched(before) + "  - lie " + lie + " full 1\n" + fetched(after),
              [&](const Trial& trial, const Faults& faults) {
                CHECK(faults.happened == 1);
                CHECK(trial.over() == of_host);
                CHECK(trial.reached().lies == 1);
                CHECK(trial.engine().ledger().violations() == 0);
                CHECK(trial.engine().tiers().counters()[Counter::damaged_records_storage] == (of_host ? 0 : 1));
              });
  }
}

TEST_CASE("check: the index of a host tier misnames no page, because a fetch has no rows that could show it") {
  std::ifstream file(std::string(kSourceFolder) + "/tests/tools/test/host_page_misnamed.txt");
  run_lying({std::istreambuf_iterator<char>(file), {}},
            [](const Trial& trial, const Faults& faults) { CHECK(trial.reached().lies == faults.happened); });
}

TEST_CASE("check: a tenant may lose what a pool had no room for before it grew, in the same operation") {
  std::ifstream file(std::string(kSourceFolder) + "/tests/tools/test/pool_grows_above_floors.txt");
  run_lying({std::istreambuf_iterator<char>(file), {}},
            [](const Trial& trial, const Faults&) { CHECK(trial.engine().ledger().violations() == 0); });
}

TEST_CASE("check: a tenant may lose what a pool had no room for while the system refused it memory, in one operation") {
  std::ifstream file(std::string(kSourceFolder) + "/tests/tools/test/memory_refused_above_floors.txt");
  run_lying({std::istreambuf_iterator<char>(file), {}},
            [](const Trial& trial, const Faults&) { CHECK(trial.engine().ledger().violations() == 0); });
}

TEST_CASE("check: an operation reads back from its line") {
  for (const char* line : {"begin 3 in=1 priority=2 leave=1 keep=2 us=50 0 1 2",
                           "begin 3 leave=0 7",
                           "reserve 3 9 soon=4",
                           "append 3 0 1",
                           "advance 3 4",
                           "commit 3",
                           "finish 3 0",
                           "rematch 3",
                           "abort 3",
                           "retract 3",
                           "resume 3",
                           "serve in=1 commits output=5 chunk=2 0 1 2",
                           "flush in=1",
                           "policy window to=slru",
                           "resize full 40",
                           "resize unlimited",
                           "resize window unlimited",
                           "room full 6",
                           "pin 4",
                           "unpin 0",
                           "poll",
                           "turn 0",
                           "fetch 4 in=2 leave=0 1",
                           "refuse_pages full 2",
                           "refuse_memory window 1",
                           "refuse_insert 3",
                           "refuse_remap 1",
                           "refuse_new 40 times=3",
                           "share ax 40 pins=16 ceiling=90",
                           "bring in=1 0 1 2",
                           "reopen hash_chain",
                           "flush_unknown",
                           "fork",
                           "lie twice full 1",
                           "lie other_record 2"})
    CHECK(text_of(program::operation_of(line, program::Runner::engine)) == line);
}

TEST_CASE("check: a file that is wrong is refused with its place") {
  const std::string engine =
      "engine: { page_size: 4, groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } } "
      "}\n";
  const auto why = [&](const std::string& text) {
    const auto program = program_of(text, "f", registry());
    return program ? std::string() : program.error().text;
  };
  CHECK(why(engine + "operations: []\n").empty());
  CHECK(why("").starts_with("f:1:1: expected a map with the keys engine and operations"));
  CHECK(why(engine) == "f:1:1: the key 'operations' is missing");
  CHECK(why("operations: []\n") == "f:1:1: the key 'engine' is missing");
  CHECK(why(engine + "operation: []\n").starts_with("f:2:1: unknown key 'operation'. Did you mean 'operations'?"));
  CHECK(why(engine + "operations: 3\n").starts_with("f:2:13: expected a list of operations"));
  CHECK(why("engine: { page_size: 0, groups: {} }\noperations: []\n").starts_with("f:1:22: "));
  const auto wrong = [&](const std::string& line) { return why(engine + "operations:\n  - " + line + "\n"); };
  CHECK(wrong("[]") == "f:3:5: expected an operation, such as 'begin 1 0 1 2'");
  CHECK(wrong("comit 1 2").starts_with("f:3:5: 'comit' is not an operation. Did you mean 'commit'?"));
  CHECK(wrong("commit") == "f:3:5: 'commit' needs a name");
  CHECK(wrong("turn") == "f:3:5: 'turn' needs a number");
  CHECK(wrong("commit 1 2 3") == "f:3:5: 'commit' has an unexpected word '3'");
  CHECK(wrong("commit 1 x") == "f:3:5: the number after it is 'x'; expected a whole number from 0 to 1000000");
  CHECK(wrong("commit 1 -1") == "f:3:5: the number after it is '-1'; expected a whole number from 0 to 1000000");
  CHECK(wrong("commit 1 2000000").find("expected a whole number from 0 to 1000000") != std::string::npos);
  CHECK(wrong("begin 1") == "f:3:5: 'begin' needs tokens");
  CHECK(wrong("begin 1 x") == "f:3:5: 'x' is not a number");
  CHECK(wrong("begin 1 2 priorty=1").starts_with("f:3:5: 'begin' has no setting 'priorty'. Did you mean 'priority'?"));
  CHECK(wrong("begin 1 2 leave=-1") == "f:3:5: leave is '-1'; expected a whole number from 0 to 1000000");
  CHECK(wrong("match 1 2").starts_with("f:3:5: 'match' is not an operation"));
  CHECK(wrong("flush in=9") == "f:3:5: 9 is not a namespace; they are numbered from 0 to 7");
  CHECK(wrong("room ful 1").starts_with("f:3:5: the engine has no group 'ful'. Did you mean 'full'?"));
  CHECK(wrong("lie twise full 1").starts_with("f:3:5: 'twise' is not a lie. Did you mean 'twice'?"));
  CHECK(wrong("poll 3") == "f:3:5: 'poll' has an unexpected word '3'");
}

TEST_CASE("check: a program with any part left out is a program") {
  // Shrinking relies on this: operations on requests that never began or have ended change nothing.
  const std::string text =
      "engine: { page_size: 2, groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } } }\n"
      "operations: [reserve 1 4, advance 1 4, commit 1 4, finish 1 4, abort 2, retract 2, resume 2, unpin 3, pin 2,\n"
      "             begin 1 leave=0 0 1 2, resume 1, commit 1 9, begin 1 leave=0 2 2, retract 1, reserve 1 2, append 1 "
      "2, finish 1 1,\n"
      "             resume 1, reserve 1 900, finish 1 900, append 1 2, flush in=7, room full 4000000]\n";
  const auto program = program_of(text, "part", registry());
  REQUIRE_MESSAGE(program, (program ? "" : program.error().text));
  CHECK(verdict_on(*program).sentence == "");
}

TEST_CASE("check: what is drawn follows from the seed, and only what no engine has is left out") {
  Draw one = draw_of(1, registry()), same = draw_of(1, registry()), other = draw_of(2, registry());
  const std::uint64_t all = one.undrawn().size();
  std::uint64_t differ = 0;
  for (int i = 0; i < 60; ++i) {
    one.drawn(one.next());
    CHECK(one.row() == same.next());
    CHECK(one.seed() == same.seed());
    differ += one.row() != other.next();
  }
  CHECK(differ > 50);
  CHECK(all - one.undrawn().size() - one.excluded() > 60 * 1'000);  // most triples of the first rows are new
  std::set<std::string> refused;
  for (const Refused& what : one.refused()) {
    CAPTURE(what.why);
    CHECK((!what.why.empty() || what.count == 0));
    refused.insert(one.text_of(what));
  }
  CHECK(refused.contains("pages = unlimited, host tier = write: write_back"));
  for (const Setting& setting : one.settings()) CHECK_FALSE(setting.values.empty());
  const auto& policies = *std::ranges::find(one.settings(), "policy", &Setting::name);
  CHECK(std::ranges::find(policies.values, "wild") != policies.values.end());
  const auto& keys = *std::ranges::find(one.settings(), "key", &Setting::name);
  CHECK(std::ranges::find(keys.values, "\"flipped\"") != keys.values.end());
}

TEST_CASE("check: the ranks of a model are equal, and their clocks are not") {
  const std::string head =
      "engine: { page_size: 2, groups: { full: { reach: path, capacity: 24, allocator: free_list, eviction: lru } },\n"
      "          tenants: { a: { pins: 24 } } }\nranks: 2\noperations:\n";
  const auto program = program_of(head +
                                      "  - turn 10\n  - begin 1 in=1 leave=0 keep=4 us=1000 0 1 2 0\n  - reserve 1 4\n"
                                      "  - finish 1 4\n  - turn 700\n  - turn 299\n  - turn 1\n",
                                  "ranks", registry());
  REQUIRE_MESSAGE(program, (program ? "" : program.error().text));
  CHECK(program->ranks == 2);
  CHECK(text_of(*program, {}).find("ranks: 2\n") != std::string::npos);
  const Verdict verdict = verdict_on(*program);
  CHECK_MESSAGE(verdict.kind == Verdict::Kind::clean, verdict.sentence);
}
