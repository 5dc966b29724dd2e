/// Every format of traces: what a good file gives, what is said of a bad one, and that an import changes nothing.
#include <canopy/eviction_strategy.h>
#include <doctest/doctest.h>
#include <support/address_limit.h>
#include <support/sanitizers.h>
#include <unistd.h>
#include <workload/line_reader.h>
#include <workload/text.h>
#include <workload/trace_formats.h>
#include <workload/words.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "read_trace.h"

namespace {

using namespace canopy;
using namespace canopy::test;
using namespace canopy::workload;
namespace fs = std::filesystem;

/// Writes a file with gzip.
std::string write_packed(const TraceFolder& folder, const std::string& content) {
  const gzFile file = ::gzopen(folder.path().c_str(), "wb");
  REQUIRE(::gzwrite(file, content.data(), static_cast<unsigned>(content.size())) > 0);
  ::gzclose(file);
  return folder.path();
}

const char* const kQwen =
    R"({"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 33, "output_length": 132, "type": "text", "turn": 1, "hash_ids": [1089, 1090, 18446744073709551615]})"
    "\n"
    R"({"chat_id": 160, "parent_chat_id": 159, "timestamp": 62, "input_length": 16, "output_length": 80, "type": "text", "turn": 2, "hash_ids": [1089]})"
    "\n";

}  // namespace

TEST_CASE("Canopy's own format: tokens, ids, and all that a request may have") {
  const TraceFolder folder;
  const Read all = read(folder.write(
      R"({"time_ms": 5, "namespace": "tenant \"7\"", "priority": -2, "hints": ["session_ended", "class_3"], "turn": 3, "output_tokens": 50, "tokens": [1, 4294967295, 3], "extra": {"a": [{}]}})"
      "\n\n"
      R"({"time_ms": 6, "block_size": 4, "input_tokens": 6, "ids": [9, 10]})"
      "\n"));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  CHECK(all.records[0].space == "tenant \"7\"");
  CHECK(all.records[0].priority == -2);
  CHECK(all.records[0].hints == (hint::kSessionEnded | hint::of_class(3)));
  CHECK(all.records[0].turn == 3);
  CHECK(all.records[0].output_tokens == 50);
  CHECK(all.records[0].tokens == std::vector<Token>{1, 4294967295, 3});
  CHECK(all.records[1].space == "");
  CHECK(all.records[1].length() == 6);
  check_import(all.records);

  // The tokens of ids are those of a Mooncake trace with the same ids.
  auto own = open_trace(folder.path());
  REQUIRE(own);
  ClientRequest request;
  REQUIRE(*(*own)->next(request));
  CHECK(request.prompt == std::vector<Token>{1, 4294967295, 3});
  CHECK(request.hints == all.records[0].hints);
  REQUIRE(*(*own)->next(request));
  CHECK(request.prompt.size() == 6);
  CHECK(request.prompt[5] == token_at(10 * 4 + 1));
}

TEST_CASE("what is wrong with a line of Canopy's own format is said with its column") {
  const auto error = [](const std::string& line) { return error_of("canopy", line); };
  CHECK(error(R"({"time_ms": 0, "tokns": [1]})") ==
        ":1:16: 'tokns' is not a key of this format; did you mean 'tokens'?");
  CHECK(error(R"({"time_ms": 0, "zzzzzzzz": [1]})") ==
        ":1:16: 'zzzzzzzz' is not a key of this format; put your own keys into \"extra\"");
  CHECK(error(R"({"time_ms": 0})") ==
        ":1: has no prompt; expected 'tokens', or 'ids' with 'block_size' and 'input_tokens'");
  CHECK(error(R"({"tokens": [1]})") == ":1: 'time_ms' is missing");
  CHECK(error(R"({"time_ms": null, "tokens": [1]})") ==
        ":1:2: 'time_ms' is null; expected a whole number of milliseconds from 0 to 1000000000000000");
  CHECK(error(R"({"time_ms": 1, "tokens": [1, -2]})") ==
        ":1:16: item 2 of 'tokens' is -2; expected a whole number from 0 to 4294967295");
  CHECK(error(R"({"time_ms": 1, "tokens": [1, [2]]})").find("item 2 of 'tokens' is a list") != std::string::npos);
  CHECK(error(R"({"time_ms": 1, "tokens": 5})") == ":1:16: 'tokens' is 5; expected a list of whole numbers");
  CHECK(error(R"({"time_ms": 1, "tokens": [1], "ids": []})") ==
        ":1:31: 'ids' is given together with 'tokens'; expected only one of them");
  CHECK(error(R"({"time_ms": 1, "ids": [1]})") == ":1:16: 'ids' needs 'block_size' as well");
  CHECK(error(R"({"time_ms": 1, "tokens": [1], "answer": [2, 3], "output_tokens": 1})") ==
        ":1:31: 'answer' has 2 items; 'output_tokens' is 1, expected the same");
  CHECK(error(R"({"time_ms": 1, "ids": [1], "block_size": 2, "input_tokens": 2, "answer": [3]})") ==
        ":1:64: 'answer' has token ids, and the prompt has none; expected 'output_tokens'");
  CHECK(error(R"({"time_ms": 1, "ids": [1], "block_size": 0, "input_tokens": 3})") ==
        ":1:28: 'block_size' is 0; expected 1 to 65536");
  CHECK(error(R"({"time_ms": 1, "ids": [1], "block_size": 2, "input_tokens": 3})") ==
        ":1:16: 'ids' has 1 items; 'input_tokens' 3 needs 2, one for each 2 tokens");
  CHECK(error(R"({"time_ms": 1, "ids": [18446744073709551615], "block_size": 2, "input_tokens": 2})") ==
        ":1:16: 'ids' has 18446744073709551615; expected at most 9223372036854775807 with this 'block_size'");
  CHECK(error(R"({"time_ms": 1, "time_ms": 1, "tokens": []})") == ":1:16: 'time_ms' is there twice; expected it once");
  CHECK(error(R"({"time_ms": 1, "hints": ["sesion_ended"], "tokens": []})").find("did you mean 'session_ended'?") !=
        std::string::npos);
  CHECK(error(R"({"time_ms": 1, "hints": [1], "tokens": []})")
            .starts_with(":1:16: 'hints' has 1; expected a whole number, or a list of names"));
  CHECK(error(R"({"time_ms": 1, "hints": "x", "tokens": []})")
            .starts_with(":1:16: 'hints' is \"x\"; expected a whole number, or a list of names"));
  CHECK(error("7") == ":1:1: the line is 7; expected an object");
  CHECK(error("null") == ":1:1: the line is null; expected an object");
  CHECK(error(R"({"time_ms": 1, "tokens": [1)") == ":1:28: ends in the middle of its JSON; was the file cut off?");
  CHECK(error(std::string(200, '[')).starts_with(":1:1: the line is a list"));
  CHECK(error("{\"extra\": " + std::string(200, '[')).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(error("") ==
        ": has no requests; expected lines like {\"time_ms\": 0, \"tokens\": [1, 2, 3], "
        "\"output_tokens\": 50}");
}

TEST_CASE("Qwen-Bailian: 16 tokens an id, seconds, turns") {
  const TraceFolder folder;
  const Read all = read(folder.write(kQwen));  // recognised without its name
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  CHECK(all.records[0].time_ms == 61114);
  CHECK(all.records[0].block == 16);
  CHECK(all.records[0].ids.size() == 3);
  CHECK(all.records[1].turn == 2);
  CHECK(all.records[1].output_tokens == 80);
  CHECK(all.records[1].ids[0] == all.records[0].ids[0]);
  check_import(all.records);
  CHECK(error_of("qwen", R"({"timestamp": 1.5, "input_length": 33, "output_length": 1, "hash_ids": [1, 2]})") ==
        ":1:60: 'hash_ids' has 2 ids; 'input_length' 33 needs 3, one for each 16 tokens; see --block-size");
  CHECK(error_of("qwen", R"({"timestamp": -1.5, "input_length": 1, "output_length": 1, "hash_ids": [1]})") ==
        ":1:2: 'timestamp' is -1.5; expected a number of seconds from 0 to 1000000000000");
}

TEST_CASE("lines of token ids") {
  const TraceFolder folder;
  const Read all = read(folder.write(
      R"({"timestamp": 1766000000.25, "prompt_token_ids": [5, 6], "output_token_ids": [7, 8, 9], "model": "x"})"
      "\n"
      R"({"timestamp": 1766000001.5, "prompt_token_ids": [5, 6, 7], "output_tokens": 4, "namespace": "a"})"));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  CHECK(all.records[0].time_ms == 0);
  CHECK(all.records[0].output_tokens == 3);
  CHECK(all.records[0].answer == std::vector<Token>{7, 8, 9});
  CHECK(all.records[1].answer.empty());
  CHECK(all.records[1].time_ms == 1250);
  CHECK(all.records[1].output_tokens == 4);
  CHECK(all.records[1].space == "a");
  CHECK(all.records[1].tokens == std::vector<Token>{5, 6, 7});
  check_import(all.records);
  CHECK(error_of("tokens", R"({"prompt_tokens_ids": [1]})") ==
        ":1: 'prompt_token_ids' is missing; is 'prompt_tokens_ids' a misspelling of it?");
}

TEST_CASE("the keys of a file's first object decide its format, not what is within it") {
  const TraceFolder folder;
  const auto format = [&](const std::string& content) { return std::string(format_of(folder.write(content))->name); };
  const std::string ids = R"("timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": [1])";
  for (const char* more : {R"("prompt": "a b")", R"("messages": [{"role": "user", "content": "a"}])",
                           R"("extra": {"requests": [], "conversations": []})", R"("id": "\"time_ms\"")",
                           R"("text": "\\\"}, \"prompt\": ")"})
    for (const std::string& content : {"{" + (more + (", " + ids)) + "}\n", "{" + ids + ", " + more + "}\n"}) {
      CAPTURE(content);
      CHECK(format(content) == "mooncake");
      const Read all = read(folder.path());
      CHECK(all.error == "");
      REQUIRE(all.records.size() == 1);
      CHECK(all.records[0].ids == std::vector<std::uint64_t>{1});
    }
  CHECK(format(kQwen) == "qwen");
  CHECK(format(R"({"time_ms": 0, "block_size": 4, "input_tokens": 1, "ids": [1], "extra": {"hash_ids": []}})") ==
        "canopy");
  CHECK(format(R"({"prompt_token_ids": [1], "input_length": 1, "prompt": "a"})") == "tokens");
  CHECK(format(R"({"requests": [{"t": 0, "in": 1, "hash_ids": [1], "prompt": "a"}]})") == "agents");
  CHECK(format(R"({"id": 1, "conversations": [{"value": "\"requests\""}]})") == "sharegpt");
  CHECK(format(R"({"text_input": "a", "output_length": 5, "timestamp": 1})") == "openai");
  CHECK(format(R"({"data": [{"payloads": [{"hash_ids": [], "messages": []}]}]})") == "openai");
  CHECK(format("\n [\n  {\n   \"messages\": [{\"role\": \"user\",\n") == "openai");
  CHECK(format(R"([{"a": [{"time_ms": 1}], "prompt": "x"}, {"time_ms": 0}])") == "openai");
  CHECK(format("TIMESTAMP,ContextTokens,GeneratedTokens\n") == "lengths");
  CHECK(read(folder.write(R"({"a": {"prompt": "x", "ContextTokens": 5}})")).error.find("of no format that is known") !=
        std::string::npos);
  // A session in a text of the first line is none of the file's.
  const Read order =
      read(folder.write(R"({"note": "\"session_id\"", "timestamp": 9, "input_length": 1, "hash_ids": [1]})"
                        "\n"
                        R"({"timestamp": 4, "input_length": 1, "hash_ids": [2]})"));
  REQUIRE(order.records.size() == 2);
  CHECK(order.records[0].time_ms == 9);
}

TEST_CASE("traces of agents: blocks and times, sub-agents among them, ids of one conversation only") {
  const TraceFolder folder;
  const std::string one =
      R"({"id": "t", "block_size": 64, "hash_id_scope": "local", "requests": [
      {"t": 0.0, "model": "m", "in": 192, "out": 10, "hash_ids": [1, 2, 3]},
      {"t": 9.0, "model": "m", "in": 300, "out": 12, "hash_ids": [1, 2, 3, 4]},
      {"t": 2.0, "type": "subagent", "requests": [{"t": 2.0, "model": "m", "in": 192, "out": 5, "hash_ids": [1, 2, 50]}]}]})";
  const Read all = read(folder.write(one));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 3);
  CHECK(all.records[1].time_ms == 2000);
  CHECK(all.records[1].ids[1] == all.records[0].ids[1]);
  CHECK(all.records[1].ids[2] != all.records[0].ids[2]);
  CHECK(all.records[2].length() == 300);
  CHECK(all.records[2].ids.size() == 5);
  CHECK(all.notes.size() == 2);
  check_import(all.records);
  const Read two = read(folder.write(one + "\n" + one));
  REQUIRE(two.records.size() == 6);
  CHECK(two.records[0].ids != two.records[1].ids);
  CHECK(error_of("agents", R"({"requests": [{"t": 1, "in": 640, "hash_ids": [1]}]})") ==
        ":1:1: request 1 has 1 ids; 640 tokens need 10, one for each 64; see --block-size");
}

TEST_CASE("lengths without prompts: Azure's and BurstGPT's share nothing, and a note says so") {
  const TraceFolder folder;
  for (const char* content :
       {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
        "2023-11-16 18:15:50.9951690,396,109\n2023-11-16 18:15:51.2224670,879,55\n",
        "\xEF\xBB\xBFTimestamp,Model,Request tokens,Response tokens\n5,m,374,44\n9.3145,m,396,109\n"
        "9.5419,m,879,55\n"}) {
    const Read all = read(folder.write(content));
    CHECK(all.error == "");
    REQUIRE(all.records.size() == 3);
    CHECK(all.records[1].time_ms >= 4314);
    CHECK(all.records[1].time_ms <= 4315);
    CHECK(all.records[2].time_ms >= 4541);
    CHECK(all.records[2].time_ms <= 4542);
    CHECK(all.records[2].length() == 879);
    CHECK(all.records[2].output_tokens == 55);
    CHECK(all.records[0].ids[0] != all.records[1].ids[0]);
    REQUIRE(all.notes.size() == 1);
    CHECK(all.notes[0].find("no hit rate can come of it") != std::string::npos);
    check_import(all.records);
  }
  CHECK(error_of("csv", "TIMESTAMP,ContextTokens\n1,2\n").find("is read as lengths:FILE") != std::string::npos);
  CHECK(error_of("lengths", "TIMESTAMP,ContextTokens\nyesterday,2\n").starts_with(":2:1: the time is 'yesterday'"));
}

TEST_CASE("a CSV's times: dates, a byte order mark, and a heading without a time is noted") {
  const TraceFolder folder;
  const Read marked = read("csv:" + folder.write("\xEF\xBB\xBFtimestamp,id,size\n3,a,32\n10,a,32\n"));
  REQUIRE(marked.records.size() == 2);
  CHECK(marked.records[1].time_ms == 7000);
  const Read dates =
      read("csv:" + folder.write("date,id,size\n2024-02-28T23:59:59+00:00,a,32\n2024-02-29T01:00:00.5+01:00,a,32\n"));
  CHECK(dates.error == "");
  REQUIRE(dates.records.size() == 2);
  CHECK(dates.records[1].time_ms == 1500);
  const Read none = read("csv:" + folder.write("when,id,size\n3,a,32\n"));
  REQUIRE(none.notes.size() == 1);
  CHECK(none.notes[0].starts_with("the heading (when, id, size) names no time"));
}

TEST_CASE("words: equal words are equal tokens, and no text is lost") {
  Words words;
  std::vector<Token> tokens;
  words.append("the cat, the cats internationalisation \xE4\xB8\xAD\xE6\x96\x87 \xFF", tokens);
  // "the" " cat" "," " the" " cats" " internat" "ionalisa" "tion" " " two characters " " and a byte that is no text
  CHECK(tokens.size() == 13);
  CHECK(tokens[0] != tokens[3]);
  std::vector<Token> again;
  words.append(" the", again);
  CHECK(again == std::vector<Token>{tokens[3]});
}

TEST_CASE("libCacheSim's CSV: by heading, by numbers, without either") {
  const TraceFolder folder;
  const Read named =
      read("csv:" + folder.write("timestamp, obj_size, obj_id, op, tenant\n10.5,600,a,get,t1\n11,600,a,get,t2\n"));
  CHECK(named.error == "");
  REQUIRE(named.records.size() == 2);
  CHECK(named.records[0].time_ms == 0);
  CHECK(named.records[1].time_ms == 500);
  CHECK(named.records[0].length() == 600);
  CHECK(named.records[0].ids == named.records[1].ids);
  CHECK(named.records[1].space == "t2");
  check_import(named.records);

  const Read plain = read("csv:" + folder.write("1,7,100\n2,8,100\n3,7,20000000\n"));
  REQUIRE(plain.records.size() == 3);
  CHECK(plain.records[0].ids != plain.records[1].ids);
  CHECK(plain.records[2].ids[0] == plain.records[0].ids[0]);
  // However long an object becomes, no other object has its ids.
  CHECK(plain.records[2].ids.back() < plain.records[1].ids[0]);

  const Read given = read("csv:" + folder.write("x|7|1|100|y\n"), {.columns = "time=3,id=2,size=4"});
  CHECK(given.error == "");
  REQUIRE(given.records.size() == 1);
  CHECK(given.records[0].length() == 100);

  CHECK(error_of("csv", "1,7,100\n2,8,many\n") ==
        ":2:5: 'size' is 'many'; expected a whole number of tokens from 0 to 20000000");
  CHECK(error_of("csv", "1,7,100\n2,8\n") == ":2:4: has 2 columns; 'size' is column 3");
  CHECK(error_of("csv", "1,7,100\nyesterday,8,1\n").starts_with(":2:1: 'time' is 'yesterday'; expected seconds"));
  CHECK(error_of("csv", "1,7,100\n", {.columns = "time=0"})
            .starts_with("--columns time=0: 'time=0'; expected time=2,id=5,size=4"));
  CHECK(error_of("csv", "1,7,100\n", {.columns = "time=1"}) == "--columns time=1: expected at least id and size");
}

TEST_CASE("a packed file is read as it is, and a damaged one is refused") {
  const TraceFolder folder;
  std::string many;
  for (int i = 0; i < 2000; ++i) many += kQwen;
  const Read plain = read(folder.write(many));
  const Read packed = read(write_packed(folder, many));
  CHECK(packed.error == "");
  REQUIRE(packed.records.size() == 4000);
  for (std::size_t i = 0; i < packed.records.size(); ++i) CHECK(same(packed.records[i], plain.records[i]));

  const auto size = fs::file_size(folder.path());
  fs::resize_file(folder.path(), size - 12);
  CHECK(read("qwen:" + folder.path()).error.find("the gzip data ends too early; was the file cut off?") !=
        std::string::npos);
  write_packed(folder, many);
  std::fstream file(folder.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size - 8));  // the sum of what was packed
  file << "sum!";
  file.close();
  CHECK(read("qwen:" + folder.path()).error.find("the gzip data is damaged") != std::string::npos);
}

TEST_CASE("a file is not called damaged where memory ends") {
  if (test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  const TraceFolder folder;
  const std::string path = folder.write("a line\n");
  // The memory that earlier tests have freed would suffice.
  std::vector<std::unique_ptr<std::array<char, 48 << 10>>> taken;
  taken.reserve(std::size_t{1} << 20);
  try {
    const test::AddressLimit limit(0);
    while (taken.size() < taken.capacity()) taken.push_back(std::make_unique<std::array<char, 48 << 10>>());
  } catch (const std::bad_alloc&) {
  }
  int short_of_memory = 0;
  for (std::uint64_t more = 0; more <= std::uint64_t{2} << 20; more += std::uint64_t{64} << 10) {
    const auto reader = LineReader::open(path);
    REQUIRE(reader);
    std::string error;
    try {
      const test::AddressLimit limit(more);
      std::string_view line;
      const auto got = (*reader)->next(line);
      if (!got) error = got.error().text;
    } catch (const std::bad_alloc&) {
      ++short_of_memory;
    }
    CHECK_MESSAGE(error.empty(), error);
  }
  CHECK(short_of_memory > 0);
}
