/// `canopy events attach`: a feed from a recorded stream, and what is wrong with its arguments.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "program.h"

using namespace cli;
using nlohmann::json;

namespace {

std::string attached_message(unsigned char sequence, const char* batch) {
  std::string bytes;
  const auto number = [&](std::size_t value) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  const auto packed = json::to_msgpack(json::parse(batch));
  const std::string frames[] = {
      "kv@pod", std::string(7, '\0') + static_cast<char>(sequence), {packed.begin(), packed.end()}};
  number(3);
  for (const std::string& frame : frames) number(frame.size()), bytes += frame;
  return bytes;
}

/// Two ranks: the first has two prompts that begin alike and a salted one, the second the first prompt alone.
const std::string kAttachedStream =
    attached_message(0, R"([1, [["BlockStored", [11, 12], null, [1, 2, 3, 4], 2, null, "GPU"]], 0])") +
    attached_message(2, R"([3, [["BlockStored", [14], 11, [7, 8], 2, null, "GPU"]], 0])") +
    attached_message(1, R"([2, [["BlockStored", [21], null, [1, 2], 2, null, "GPU", {"cache_salt": "s"}]], 0])") +
    attached_message(0, R"([1, [["BlockStored", [31, 32], null, [1, 2, 3, 4], 2, null, "GPU"]], 1])");

}  // namespace

TEST_CASE("a recorded stream becomes a feed that canopy top shows, and says what is not known") {
  const Workshop workshop;
  const std::string name = "cli-follow-" + std::to_string(getpid());
  Started subscribe(workshop, "subscribe",
                    "events attach --from " + workshop.file("s.bin", kAttachedStream) + " --feed " + name);
  REQUIRE(soon([&] { return has(slurp(workshop.path / "subscribe.err"), "until Ctrl-C"); }));
  const Ended top = run_canopy(workshop, "top --feed " + name + " --once");
  CHECK(top.status == 0);
  CHECK(has(top.out, "12 tokens in 6 blocks cached"));
  CHECK(has(top.out, "5 nodes"));
  CHECK(has(top.out, "hit rate, requests, locks, free pages: KV events do not report them"));
  CHECK(!has(top.out, "evictable"));
  CHECK(has(top.out, "rank 0, salt s, depth 0 to 2"));
  CHECK(has(top.out, "50.0 %"));   // hit rate of rank 0: 4 of 8 tokens
  CHECK(has(top.out, "100.0 %"));  // hit rate of rank 1
  CHECK(has(top.out, "whole, 1 gap, 1 missing message came later"));
  CHECK(has(top.out, "drift 0"));
  // An exporter serves the figures that events have, and no others: not even 0.
  const Ended figures =
      run_canopy(workshop, "export --feed " + name + " --once --names canopy --names sglang --names vllm");
  CHECK(figures.status == 0);
  CHECK(has(figures.out, "namespace=\"rank 0, salt s\"} 2\n"));
  CHECK(has(figures.out, "group=\"GPU\",state=\"cached\"} 12\n"));
  CHECK(has(figures.out, "canopy_page_lifetime_seconds_count"));
  for (const char* unknown :
       {"canopy_requests",     "canopy_prompt_tokens", "canopy_hit",    "canopy_pool_limit", "canopy_evictable",
        "canopy_missed",       "canopy_eviction_age",  "canopy_reuse",  "state=\"free\"",    "canopy_pool_info",
        "sglang:kv_",          "sglang:token_usage",   "sglang:prompt", "sglang:num_",       "vllm:prefix_cache",
        "vllm:kv_cache_usage", "vllm:prompt",          "vllm:num_",     "vllm:cache_config", "idle_before_evict"})
    CHECK_MESSAGE(!has(figures.out, unknown), unknown);
  const Ended ended = subscribe.end(SIGINT);
  CHECK(ended.status == 130);
  CHECK(has(ended.out, "rank 1: 2 blocks, whole"));
  CHECK(!fs::exists("/dev/shm/canopy-" + name));
}

TEST_CASE("a recorded stream becomes a recording") {
  const Workshop workshop;
  const std::string stream = workshop.file("s.bin", kAttachedStream), feed = (workshop.path / "s.feed").string();
  const Ended ended = run_canopy(workshop, "events attach --from " + stream + " --record " + feed);
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "blocks: 6\n"));
  CHECK(slurp(feed).substr(0, 7) == "canopyf");
  CHECK(slurp(feed).size() > 4096);
  // Bytes that cannot be read are reported, and the rest is recorded.
  const Ended cut =
      run_canopy(workshop, "events attach --from " +
                               workshop.file("c.bin", kAttachedStream.substr(0, kAttachedStream.size() - 1)) +
                               " --record " + feed);
  CHECK(cut.status == 2);
  CHECK(has(cut.err, "the stream ends within the message"));
  CHECK(has(cut.out, "blocks: 4\n"));
  CHECK(run_canopy(workshop, "events attach --from " + stream + " --record " + stream).status == 2);
  CHECK(slurp(stream) == kAttachedStream);
  CHECK(has(run_canopy(workshop, "events attach --from " + workshop.file("e.bin", "") + " --record " + feed).err,
            "no block is stored in it"));
}

TEST_CASE(
    "events attach: a block that comes before its parent is below it at the end of a file, as with a live server") {
  const Workshop workshop;
  const std::string stream = attached_message(0, R"([1, [["BlockStored", [11], null, [1, 2], 2, null, "GPU"]], 0])") +
                             attached_message(1, R"([2, [["BlockStored", [13], 12, [5, 6], 2, null, "GPU"]], 0])") +
                             attached_message(2, R"([3, [["BlockStored", [12], 11, [3, 4], 2, null, "GPU"]], 0])");
  const Ended ended = run_canopy(workshop, "events attach --from " + workshop.file("s.bin", stream) + " --record " +
                                               (workshop.path / "s.feed").string());
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "blocks: 3\n"));
  CHECK_MESSAGE(!has(ended.out, "blocks under an unknown prefix"), ended.out);
}

TEST_CASE("events attach: groups of windows that come first do not take the place of full attention") {
  const Workshop workshop;
  std::string stream;
  // Five groups of windows with two blocks each, then full attention with three.
  for (unsigned char group = 0; group < 6; ++group) {
    const bool full = group == 5;
    const json event = {{"type", "BlockStored"},
                        {"block_hashes", full ? json{51, 52, 53} : json{10 * group + 1, 10 * group + 2}},
                        {"parent_block_hash", nullptr},
                        {"token_ids", full ? json{51, 51, 52, 52, 53, 53} : json{group, 1, group, 2}},
                        {"block_size", 2},
                        {"medium", "GPU"},
                        {"group_idx", group},
                        {"kv_cache_spec_kind", full ? "full_attention" : "sliding_window"}};
    stream += attached_message(group, json::array({group + 1, json::array({event}), 0}).dump().c_str());
  }
  const Ended ended = run_canopy(workshop, "events attach --from " + workshop.file("s.bin", stream) + " --record " +
                                               (workshop.path / "s.feed").string());
  CHECK_MESSAGE(has(ended.out, "blocks: 9\n"), ended.out);  // three groups of windows, and full attention
  CHECK_MESSAGE(has(ended.out, "incomplete, 4 blocks were left out"), ended.out);
  CHECK(ended.status == 0);  // figures of prefixes are whole
}

TEST_CASE("what KV events do not show is not known in any output of canopy inspect") {
  const Workshop workshop;
  const std::string stream = workshop.file(
      "s.bin", attached_message(0, R"([1, [["BlockStored", [11, 12], null, [1, 2, 3, 4], 2, null, "GPU"]], 0])") +
                   attached_message(1, R"([2, [["BlockRemoved", [12], "GPU"]], 0])"));
  const std::string feed = (workshop.path / "s.feed").string();
  REQUIRE(run_canopy(workshop, "events attach --from " + stream + " --record " + feed).status == 0);
  const std::set<std::string> kOfRequests = {"requests", "prompt", "hit", "wasted", "tries", "locked_us"};
  const Ended text = run_canopy(workshop, "inspect " + feed);
  CHECK(text.status == 0);
  std::istringstream lines(text.out);
  std::size_t unknown = 0;
  for (std::string line; std::getline(lines, line);)
    for (const char* words :
         {"  requests ", "  prompt tokens ", "  hit tokens ", "  hit rate ", "  wasted tokens ", "  tries "})
      if (line.starts_with(words)) {
        ++unknown;
        CHECK_MESSAGE(line.ends_with(" -"), line);
      }
  CHECK(unknown == 6);
  CHECK_MESSAGE(has(text.out, "evicted tokens                          2"), text.out);
  for (const char* table : {"tenants", "timeline"}) {
    const Ended csv = run_canopy(workshop, "inspect " + feed + " --csv " + table);
    std::istringstream rows(csv.out);
    std::vector<std::string> heads;
    std::size_t empty = 0, tables = 0;
    for (std::string row; std::getline(rows, row); ++tables) {
      std::istringstream cells(row);
      std::size_t column = 0;
      for (std::string cell; std::getline(cells, cell, ','); ++column) {
        if (tables == 0) heads.push_back(cell);
        if (tables == 0) continue;
        const std::string& head = heads.at(column);
        if (!kOfRequests.contains(head)) continue;
        ++empty;
        CHECK_MESSAGE(cell.empty(), head);
      }
    }
    CHECK(empty >= 5);
    CHECK(tables > 1);
  }
  const Ended waste = run_canopy(workshop, "inspect " + feed + " --csv waste");
  CHECK(std::count(waste.out.begin(), waste.out.end(), '\n') == 1);
}

TEST_CASE("events attach: SIGINT while a stream is read keeps what was read, says so, and ends with 130") {
  const Workshop workshop;
  std::string bytes = kAttachedStream, again = attached_message(0, R"([1, [], 0])");
  while (again.size() < 40'000'000) again += again;
  const std::string stream = workshop.file("s.bin", bytes + again), feed = (workshop.path / "s.feed").string();
  Started attach(workshop, "attach", "events attach --from " + stream + " --record " + feed);
  REQUIRE(soon([&] { return has(slurp(workshop.path / "attach.err"), "recording to"); }));
  const Ended ended = attach.end(SIGINT);
  CHECK(ended.status == 130);
  CHECK_MESSAGE(has(ended.err, "SIGINT stopped it after "), ended.err);
  CHECK(has(ended.err, "s.bin was not read"));
  CHECK_MESSAGE(has(ended.out, "blocks: "), ended.out);  // blocks of one message at least
  CHECK(run_canopy(workshop, "inspect " + feed).status == 0);
}

TEST_CASE("arguments of canopy events attach that cannot be used end with a sentence and exit code 2") {
  const Workshop workshop;
  const auto error_of = [&](const std::string& arguments) {
    const Ended ended = run_canopy(workshop, "events attach " + arguments);
    CHECK(ended.status == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(has(error_of("--feed x"), "expected either endpoints of servers"));
  CHECK(has(error_of("tcp://127.0.0.1:1"), "expected either --feed NAME"));
  CHECK(has(error_of("tcp:/127.0.0.1:1 --feed x"), "'tcp:/127.0.0.1:1' is not an endpoint"));
  CHECK(has(error_of("tcp://127.0.0.1:1 --replay nothing --feed x"), "'nothing' is not an endpoint"));
  CHECK(has(error_of("tcp://127.0.0.1:1 ipc:///tmp/x --replay tcp://127.0.0.1:2 --feed x"),
            "each endpoint needs its own"));
  CHECK(has(error_of("tcp://127.0.0.1:1 --replay tcp://127.0.0.1:1 --feed x"), "has another endpoint"));
  CHECK(has(error_of("tcp://127.0.0.1:1 tcp://127.0.0.1:1 --feed x"), "is named twice"));
  CHECK(has(error_of("tcp://127.0.0.1:1 --feed 'a b'"), "--feed is 'a b'"));
  CHECK(has(error_of("tcp://127.0.0.1:1 --feed x --record y"), "expected either --feed NAME"));
  CHECK(has(error_of("--from /no/such/file --feed x"), "No such file"));
}

TEST_CASE("a server that is not there is waited for and said, and Ctrl-C ends it") {
  const Workshop workshop;
  Started subscribe(workshop, "subscribe",
                    "events attach ipc://" + (workshop.path / "socket").string() + " --feed cli-absent");
  REQUIRE(soon([&] { return has(slurp(workshop.path / "subscribe.err"), "no server there yet"); }));
  CHECK(subscribe.end(SIGINT).status == 130);
}

TEST_CASE("events attach: a publisher of nonsense fills no disk with its messages") {
  const Workshop workshop;
  std::string bytes = kAttachedStream;
  for (int i = 3; i < 5'000; ++i) bytes += attached_message(static_cast<unsigned char>(i), "[\"no time\", 7]");
  const Ended ended = run_canopy(workshop, "events attach --from " + workshop.file("s.bin", bytes) + " --record " +
                                               (workshop.path / "s.feed").string());
  CHECK(ended.status == 2);
  CHECK(has(ended.err, " more lines; the last one: "));
  CHECK_MESSAGE(ended.err.size() < 20'000, ended.err.size());
}
