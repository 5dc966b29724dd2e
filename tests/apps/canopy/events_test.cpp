/// `canopy events`: a recorded stream as a table or as JSON lines, and what is wrong with one.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include <support/recorded_stream.h>
#include "program.h"

using namespace cli;
using nlohmann::json;
using recorded::framed;

namespace {

std::string message(unsigned char sequence, const char* batch, const std::string& topic = "kv@pod") {
  const auto packed = json::to_msgpack(json::parse(batch));
  return framed({topic, std::string(7, '\0') + static_cast<char>(sequence), {packed.begin(), packed.end()}});
}

const std::string kStream =
    message(0, R"([1, [["AllBlocksCleared"]], 0])") +
    message(1, R"([2, [["BlockStored", [-3, 4], null, [1, 2, 3, 4], 2, null, "GPU", {"cache_salt": "s"}]], 0])") +
    message(4, R"([5, [{"type": "BlockRemoved", "block_hashes": [4], "medium": "GPU", "new": 1}], 0])") +
    message(3, R"([4, [{"type": "Later"}], 0])") + message(3, R"([4, [{"type": "Later"}], 0])") +
    message(0, R"([9, [], 0])") + message(9, R"([9, [], null])", "other") + framed({"", std::string(8, '\xff'), ""});

}  // namespace

TEST_CASE("a recorded stream is printed as a table with gaps, repeats and restarts") {
  const Workshop workshop;
  const Ended ended = run_canopy(workshop, "events decode " + workshop.file("s.bin", kStream));
  CHECK(ended.status == 1);  // a message is missing
  CHECK(has(ended.out, "7 messages: 2 blocks stored, 1 block removed, 1 clear and 2 publishers"));
  CHECK(has(ended.out, "1 gap (1 missing, 1 repaired), 1 repeated, 1 restart"));
  CHECK(has(ended.out, "left out: 2 events and 1 field that this version does not know"));
  for (const char* word : {"ahead", "late", "repeated", "restart", "A2", "other"}) CHECK(has(ended.out, word));
}

TEST_CASE("a recorded stream is printed as JSON, a message a line") {
  const Workshop workshop;
  const Ended ended = run_canopy(workshop, "events decode --lines " + workshop.file("s.bin", kStream));
  CHECK(ended.status == 1);  // a message is missing
  std::stringstream lines(ended.out);
  std::vector<json> messages;
  for (std::string line; std::getline(lines, line);) messages.push_back(json::parse(line));
  REQUIRE(messages.size() == 7);
  CHECK(messages[1].at("events") == json::parse(R"([{"type": "BlockStored", "block_hashes": [-3, 4],
      "parent_block_hash": null, "token_ids": [1, 2, 3, 4], "block_size": 2, "lora_id": null, "medium": "GPU",
      "cache_salt": "s"}])"));
  CHECK(messages[2].at("order") == "ahead");
  CHECK(messages[3].at("unknown_events") == 1);
  CHECK(has(ended.err, "1 gap (1 missing, 1 repaired), 1 repeated, 1 restart"));
}

TEST_CASE("a recorded stream is counted") {
  const Workshop workshop;
  const std::string more =
      message(1, R"([10, [{"type": "BlockStored", "block_hashes": [5], "parent_block_hash": 77, "token_ids": [1, 2],
                           "block_size": 2}, {"type": "BlockRemoved", "block_hashes": [6]}], 0])");
  const Ended ended = run_canopy(workshop, "events stat " + workshop.file("s.bin", kStream + more));
  CHECK(ended.status == 1);  // a message is missing
  for (const char* line :
       {"8 with", "2 publishers", "1 gap (1 missing, 1 repaired), 1 repeated, 1 restart",
        "2 stored, 2 removed, 1 cleared", "3 stored, 2 removed, 3 distinct", "2 blocks", "1 event", "1 block"})
    CHECK_MESSAGE(has(ended.out, line), ended.out);
}

TEST_CASE(
    "events stat: blocks that are stored again while they are held are said, and are no copies where they are "
    "reports") {
  const Workshop workshop;
  const char* const store = R"([1, [{"type": "BlockStored", "block_hashes": [5, 6], "parent_block_hash": null,
      "token_ids": [1, 2, 3, 4], "block_size": 2, "medium": "GPU"}], 0])";
  const std::string stream = workshop.file(
      "r.bin", message(0, store) + message(1, store) +
                   message(2, R"([2, [{"type": "BlockRemoved", "block_hashes": [5, 6], "medium": "GPU"}], 0])"));
  const Ended copies = run_canopy(workshop, "events stat " + stream);
  CHECK_MESSAGE(has(copies.out, "2 blocks of the same group and medium while they were held; if they are reports"),
                copies.out);
  CHECK(std::regex_search(copies.out, std::regex("held at the end +2 blocks")));
  const Ended reports = run_canopy(workshop, "events stat --repeats-are-reports " + stream);
  CHECK(std::regex_search(reports.out, std::regex("held at the end +0 blocks")));
  CHECK(has(reports.out, ": reports, not copies"));
}

TEST_CASE("a stream that is cut, no stream, or has a bad payload ends with a sentence and exit code 2") {
  const Workshop workshop;
  const auto of = [&](const std::string& bytes) {
    return run_canopy(workshop, "events decode " + workshop.file("s.bin", bytes));
  };
  const Ended cut = of(kStream.substr(0, kStream.size() - 1));
  CHECK(cut.status == 2);
  CHECK(has(cut.out, "7 messages"));
  CHECK(has(cut.err, "the stream ends within the message that begins at byte"));
  const Ended bad = of(message(0, "3") + message(1, R"([1, [["AllBlocksCleared"]], 0])"));
  CHECK(bad.status == 2);
  CHECK(has(bad.err, "message 1 with sequence 0: near byte 0: the payload is 3; expected a batch"));
  CHECK(has(bad.out, "2 messages: 0 blocks stored"));
  CHECK(has(of("a text, and no stream").err, "not a recorded stream"));
  const Ended empty = of("");
  CHECK(empty.status == 2);
  CHECK(has(empty.err, "there is no message in it; expected a recorded stream"));
  CHECK(run_canopy(workshop, "events decode --lines " + workshop.path.string()).status == 2);
}
