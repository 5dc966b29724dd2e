#include "program.h"

#include <doctest/doctest.h>

#include <support/sanitizers.h>
#include <support/shared_folder.h>
#include <array>
#include <nlohmann/json.hpp>

using namespace cli;

namespace {

const std::string kTiers = (kSource / "configs/engines/tiers_host.yaml").string();
const std::string kChat = " --workload " + (kSource / "configs/workloads/chat.yaml").string() + " --limit 250";

}  // namespace

TEST_CASE("tiers: a replay compares the bytes that come from the host, and prints the hits of each tier") {
  const Workshop workshop;
  const std::string small = "replay " + kTiers + kChat + " --capacity 20k --set tiers.host.capacity=300k";
  for (const char* mode : {"serial", "timed"}) {
    CAPTURE(mode);
    const std::string report = (workshop.path / mode).string(), line = small + " --mode " + mode;
    const Ended run = run_canopy(workshop, line + " --json " + report);
    CHECK_MESSAGE(run.status == 0, run.out, run.err);
    for (const char* part :
         {"from the pools", "from the host", "host tier", "written ", "loaded ", "host fetches", " 0 violations"})
      CHECK_MESSAGE(has(run.out, part), run.out);
    const auto json = nlohmann::json::parse(slurp(report));
    CHECK(json["hit_tokens_host"] > 0);
    CHECK(json["hit_tokens_device"].get<std::uint64_t>() + json["hit_tokens_host"].get<std::uint64_t>() ==
          json["hit_tokens"]);
    CHECK(json["loaded_bytes_host"] > 0);
    // One after the other nothing hides a copy; side by side they run while others compute.
    const auto load = json["fetch_load_us"].get<std::uint64_t>(), hidden = json["fetch_hidden_us"].get<std::uint64_t>();
    CHECK(load > 0);
    if (mode == std::string("serial")) CHECK(hidden == 0);
    else CHECK(hidden * 2 > load);
    CHECK(hidden <= load);
    CHECK(json["content_checks"] >= json["hit_tokens"]);
    std::uint64_t fetches = 0;
    for (const auto& count : json["fetches"]) fetches += count.get<std::uint64_t>();
    CHECK(fetches >= json["requests"].get<std::uint64_t>() - json["rejected"].get<std::uint64_t>());
    const std::string again = (workshop.path / "again").string();
    CHECK(run_canopy(workshop, line + " --json " + again).status == 0);
    CHECK(nlohmann::json::parse(slurp(again))["digest"] == json["digest"]);
  }
  // The pools alone find what they find beside a tier, in fewer words.
  const std::string report = (workshop.path / "alone").string();
  const Ended alone = run_canopy(workshop, small + " --set tiers=none --json " + report);
  CHECK_MESSAGE(alone.status == 0, alone.err);
  CHECK_FALSE(has(alone.out, "from the host"));
  CHECK_FALSE(nlohmann::json::parse(slurp(report)).contains("hit_tokens_host"));
}

TEST_CASE("tiers: a replay over a storage finds what left the host tier, decides the same again, and survives faults") {
  const Workshop workshop;
  const std::string model = " --set model.name=m --set model.revision=r --set model.dtype=bf16",
                    simulated = " --set tiers.storage.bandwidth=2GB/s";
  const auto run = [&](const std::string& line) {
    const std::string report = (workshop.path / "report").string();
    const Ended ended = run_canopy(workshop, "replay " + kTiers + kChat + model + " --capacity 20k --json " + report +
                                                 " --set tiers.host.capacity=10k --set tiers.storage.in." + line);
    CHECK_MESSAGE(ended.status == 0, ended.out, ended.err);
    for (const char* part :
         {"from the storage", "  storage find", "  storage get", "  storage fetches", " 0 violations"})
      CHECK_MESSAGE(has(ended.out, part), ended.out);
    return nlohmann::json::parse(slurp(report));
  };
  const auto sum = [](const nlohmann::json& json) {
    return json["hit_tokens_device"].get<std::uint64_t>() + json["hit_tokens_host"].get<std::uint64_t>() +
           json["hit_tokens_storage"].get<std::uint64_t>();
  };
  const auto good = run("sim_storage.linger=2" + simulated);
  CHECK(good["hit_tokens_storage"] > 0);
  CHECK(good["written_bytes_storage"] > 0);
  CHECK(good["loaded_bytes_storage"] > 0);
  CHECK(good["fetches_storage"]["whole"] > 0);
  CHECK(good["content_checks"] >= good["hit_tokens"]);
  CHECK(sum(good) == good["hit_tokens"]);
  CHECK(run("sim_storage.linger=2" + simulated)["digest"] == good["digest"]);
  CHECK(good["dropped_tokens_storage"] > good["written_tokens_storage"].get<std::uint64_t>() / 9);
  REQUIRE(good.value("notes", nlohmann::json::array()).size() == 1);
  CHECK_MESSAGE(has(good["notes"][0], "was not written to the storage, because its room was needed before"), good);
  CHECK_FALSE(run("sim_storage.linger=2 --set tiers.storage.write=through" + simulated).contains("notes"));
  const auto spent = run("sim_storage.linger=2 --set 'tenants={\"*\": { puts: 1000 }}'" + simulated);
  REQUIRE(spent.value("notes", nlohmann::json::array()).size() == 1);
  CHECK_MESSAGE(has(spent["notes"][0], "because a tenant's budget of puts was spent, or its room was needed"), spent);

  // In real time the storage ends its calls when it likes; what is found is right all the same.
  const std::string faults =
      "sim_storage.damaged=50 --set tiers.storage.in.sim_storage.late=20 --set tiers.storage.in.sim_storage.failed=20";
  for (const std::string& line :
       {faults + " --set tiers.storage.write=through", faults + simulated + " --mode timed"}) {
    const auto faulty = run(line);
    CHECK(faulty["damaged_records_storage"] > 0);
    CHECK(sum(faulty) == faulty["hit_tokens"]);
    CHECK(faulty["fetches_storage"]["damaged"] > 0);
  }
}

TEST_CASE("tiers: with the cost of computing, a replay prints what fetches saved, and that none made a request late") {
  const Workshop workshop;
  const auto run = [&](const std::string& more) {
    const std::string report = (workshop.path / "report").string();
    const Ended ended = run_canopy(workshop, "replay " + kTiers + kChat + " --mode timed --capacity 20k --json " +
                                                 report + " --set tiers.host.capacity=300k" + more);
    CHECK_MESSAGE(ended.status == 0, ended.out, ended.err);
    CHECK(has(ended.out, "host fetch ends"));
    auto json = nlohmann::json::parse(slurp(report));
    json["text"] = ended.out;
    return json;
  };
  const auto unknown = run("");
  CHECK_FALSE(has(unknown["text"].get<std::string>(), "prefill time"));
  CHECK(unknown["fetch_saved_us"] == 0);
  CHECK(unknown["fetch_ends"]["used"] > 0);
  // 128 KiB a token: 5.2 us at 25 GB/s.
  const std::string large = " --kv-bytes 131072 --set tiers.recompute.per_token=";
  const auto worth = run(large + "50us");
  CHECK(has(worth["text"].get<std::string>(), "prefill time"));
  CHECK(worth["fetch_saved_us"] > 0);
  CHECK(worth["fetch_later_requests"] == 0);
  CHECK(worth["hit_tokens_host"] > 0);
  const auto never = run(large + "5us");
  CHECK(never["hit_tokens_host"] == 0);
  CHECK(never["fetches"]["not_worth"] > 0);
  CHECK(never["fetches"]["whole"] == 0);
  const auto early = run(large + "50us --set tiers.prefetch.policy=best_effort");
  CHECK(early["fetch_wait_us"] == 0);
}

// The bounds are those of a simulation of blocks, less what whole nodes cost.
TEST_CASE("tiers: on a recorded trace a tier fed by evictions finds more than one that copies what is inserted") {
  if (canopy::test::kSanitized) {
    MESSAGE("SKIPPED: figures of one thread, of minutes under a sanitizer; shorter replays run the same code");
    return;
  }
  const fs::path trace = canopy::test::shared_file("traces/conversation_trace.jsonl");
  if (trace.empty()) return;
  const Workshop workshop;
  const auto hits = [&](const std::string& set) {
    const std::string report = (workshop.path / "report").string();
    const Ended run = run_canopy(workshop, "replay " + kTiers + " --store none --no-content --capacity 3M --trace " +
                                               trace.string() + " --json " + report + " --set " + set);
    REQUIRE_MESSAGE(run.status == 0, run.err);
    return nlohmann::json::parse(slurp(report))["hit_tokens"].get<std::uint64_t>();
  };
  const std::uint64_t back = hits("tiers.host.capacity=6M"),
                      through = hits("tiers.host.capacity=6M --set tiers.host.write=write_through");
  CHECK(back >= 39'000'000);
  CHECK(back * 100 >= through * 112);
  CHECK(hits("tiers.host.capacity=20M") >= 51'000'000);
  // A storage of 30 M tokens, whose records are headers alone.
  CHECK(hits("tiers.host.capacity=6M --set model.name=m --set model.revision=r --set model.dtype=none --set "
             "tiers.storage.bandwidth=2GB/s --set tiers.storage.in.sim_storage.capacity=7680000000") >= 52'000'000);
}

TEST_CASE("tiers: what cannot be is refused") {
  const Workshop workshop;
  const auto check = [&](const std::string& set) {
    return run_canopy(workshop, "config check " + kTiers + " --set " + set);
  };
  CHECK(check("page_size=16").status == 0);
  CHECK(has(check("tiers.recompute.per_tokn=5").err, "Did you mean 'per_token'?"));
  CHECK(has(check("tiers.host.latency=20").err, "tiers.host.latency = 20 has no unit, as in 20us"));
  CHECK(has(check("tiers.prefetch.policy=worthy").err, "worthwhile"));
  CHECK(has(check("tiers.prefetch=now").err, "tiers.prefetch = 'now' is not a map"));
  CHECK(has(check("tiers.host=none --set tiers.prefetch.max=10s").err, "expected tiers.host beside it"));

  const Ended unlimited = check("groups.full.capacity=unlimited");
  CHECK(unlimited.status == 2);
  CHECK_MESSAGE(has(unlimited.err, "tiers.host.capacity: the pool of group 'full' is unlimited"), unlimited.err);
  CHECK(has(check("tiers.host.capacity=3").err, "does not hold one page of 16 tokens"));
  CHECK(has(check("tiers.host.write=back").err, "write_back"));
  CHECK(has(check("tiers.disk.capacity=3M").err, "tiers has no option 'disk'"));
  CHECK(has(check("tiers=fast").err, "tiers = 'fast' is not a map"));
  CHECK(has(check("tiers.host.evicton=lru").err, "Did you mean 'eviction'?"));
  const std::string storage = "tiers.storage.in=sim_storage", model = " --set model.name=m --set model.revision=r";
  CHECK(has(check(storage).err, "tiers.storage.in: a storage keeps the bytes of each model apart"));
  CHECK(has(check(storage + model).err, "model has no 'dtype'"));
  CHECK(check(storage + model + " --set model.dtype=bf16").status == 0);
  CHECK(has(check(storage + model + " --set model.dtype=bf16 --set model.rank=1").err,
            "model.rank = 1, and there are 1"));
  CHECK(has(check("tiers.storage.in=slot").err, "no page storage is called 'slot'"));
  CHECK(has(check("tiers.storage.write=on_evict").err, "tiers.storage has no 'in'"));
  const std::string two =
      storage + model +
      " --set model.dtype=bf16 --set groups.window.reach=64 --set groups.window.capacity=1000 --set "
      "groups.window.allocator=free_list --set groups.window.eviction=lru";
  CHECK(check(two).status == 0);
  const std::string alone = "tiers.host=none --set " + storage + model + " --set model.dtype=bf16";
  CHECK(has(check(alone).err, "expected tiers.host beside it"));
  const std::string file = workshop.file("no_capacity.yaml",
                                         "page_size: 4\nindex: radix\ngroups: { full: { reach: path, capacity: 64, "
                                         "allocator: free_list, eviction: lru } }\ntiers: { host: { write: none } }\n");
  CHECK(has(run_canopy(workshop, "config check " + file).err, "tiers.host has no 'capacity'"));
}

namespace {

/// Returns what a command prints on a terminal of 80 columns. Empty, with a message, if no program here makes a
/// terminal.
std::string on_80_columns(const Workshop& workshop, const std::string& arguments) {
  if (std::system("command -v script >/dev/null") != 0) {
    std::printf("SKIPPED: no `script` here to make a terminal (bsdutils)\n");
    return {};
  }
  const fs::path shown = workshop.path / "shown";
  const std::string line = "TERM=xterm NO_COLOR=1 LC_ALL=C timeout 120 script -qec 'stty cols 80; " +
                           (cli::kBin / "canopy").string() + " " + arguments + "' /dev/null </dev/null >" +
                           shown.string();
  static_cast<void>(!std::system(line.c_str()));
  return cli::slurp(shown);
}

}  // namespace

TEST_CASE("tiers: top has lines for a storage and its lanes, and an export has their figures") {
  const Workshop workshop;
  const std::string name = "stored-" + std::to_string(::getpid());
  Started served(workshop, "served",
                 "replay " + kTiers + " --workload " + (kSource / "configs/workloads/chat.yaml").string() +
                     " --capacity 20k --set tiers.host.capacity=40k --set tiers.storage.in=sim_storage --set "
                     "tiers.storage.bandwidth=2GB/s --set model.name=m --set model.revision=r --set model.dtype=bf16 "
                     "--pace 300 --feed " +
                     name);
  Ended top, exported;
  std::string on_terminal;
  REQUIRE(soon([&] {
    on_terminal = on_80_columns(workshop, "top --feed " + name + " --once");
    top = run_canopy(workshop, "top --feed " + name + " --once");
    exported = run_canopy(workshop, "export --once --names canopy --names sglang --feed " + name);
    return top.status == 0 && exported.status == 0 && (on_terminal.empty() || has(on_terminal, "storage fetches"));
  }));
  std::istringstream lines(on_terminal);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80 + 1, line);  // and a \r
  for (const char* line :
       {"storage", "sim_storage: called", "storage find", "storage get", "storage put", "storage fetches"})
    CHECK_MESSAGE(has(top.out, line), top.out);
  for (const char* metric :
       {"canopy_tier_breaker{", "canopy_tier_records{", "canopy_lane_records_total{", "canopy_lane_calls_total{",
        "canopy_tier_breaks_total{", "canopy_tier_damaged_records_total{", "sglang:prefetched_tokens_total{",
        "canopy_fetches_outwaited_total{", "canopy_fetch_ends_total{", "canopy_fetch_seconds_total{",
        "sglang:backuped_tokens_total{", "cache_source=\"storage\""})
    CHECK_MESSAGE(has(exported.out, metric), metric);
}

TEST_CASE(
    "tiers: top has a line for the tier and each lane, and an export has their figures under HiCache's names too") {
  const Workshop workshop;
  const std::string name = "tiers-" + std::to_string(::getpid());
  Started served(workshop, "served",
                 "replay " + kTiers + " --workload " + (kSource / "configs/workloads/chat.yaml").string() +
                     " --capacity 20k --set tiers.host.capacity=300k --pace 300 --feed " + name);
  Ended top, exported;
  REQUIRE(soon([&] {
    top = run_canopy(workshop, "top --feed " + name + " --once");
    exported = run_canopy(workshop, "export --once --names canopy --names sglang --feed " + name);
    return has(top.out, "/s") && exported.status == 0;
  }));
  for (const char* line : {"host full", "host store", "host load", "host fetches", "/s"})
    CHECK_MESSAGE(has(top.out, line), top.out);
  for (const char* metric :
       {"canopy_tier_tokens{", "canopy_tier_limit_tokens{", "canopy_lane_queued_bytes{", "canopy_lane_bytes_total{",
        "canopy_fetches_total{", "canopy_tier_hit_tokens_total{", "canopy_tier_evicted_tokens_total{",
        "canopy_tier_dropped_tokens_total{", "sglang:hicache_host_used_tokens{", "sglang:hicache_backup_tokens_total{",
        "sglang:load_back_tokens_total{", "sglang:hicache_dropped_tokens_total{", "cache_source=\"host\""})
    CHECK_MESSAGE(has(exported.out, metric), metric);
}

TEST_CASE("a request that has room and waits for its fetch did not wait for room") {
  const Workshop workshop;
  const fs::path report = workshop.path / "report.json";
  std::string trace;
  for (const auto& [ms, first, count] :
       {std::array{0, 1, 160}, {10'000, 1001, 160}, {20'000, 2001, 16}, {30'000, 1, 160}}) {
    std::string tokens;
    for (int i = 0; i < count; ++i) tokens += (i ? ", " : "") + std::to_string(first + i);
    trace += "{\"time_ms\": " + std::to_string(ms) + ", \"tokens\": [" + tokens + "], \"output_tokens\": 1}\n";
  }
  const Ended run = run_canopy(
      workshop,
      "replay " + (kSource / "configs/engines/tiers_host.yaml").string() +
          " --store none --no-content --kv-bytes 1000 --capacity 256 --resize 4:1M --mode timed --abort-permille 0"
          " --set tiers.host.latency=1s --trace " +
          workshop.file("t.jsonl", trace) + " --json " + report.string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const auto json = nlohmann::json::parse(slurp(report));
  CHECK(json["waited"] == 0);
  CHECK(json["p95_wait_ms"] > 0);  // for its fetch
  CHECK(json["hit_tokens_host"] > 0);
}
