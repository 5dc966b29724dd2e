/// Every format of traces: what a good file gives, what is said of a bad one, and that an import changes nothing.
#include <canopy/eviction_strategy.h>
#include <doctest/doctest.h>
#include <support/folder.h>
#include <unistd.h>
#include <workload/formats/native_trace.h>
#include <workload/text.h>
#include <workload/trace_formats.h>
#include <workload/words.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using namespace canopy;
using namespace canopy::workload;
namespace fs = std::filesystem;

struct Folder : test::Folder {
  std::string write(const std::string& content) const { return file("file", content); }
  std::string write_packed(const std::string& content) const {
    const gzFile file = ::gzopen(path().c_str(), "wb");
    REQUIRE(::gzwrite(file, content.data(), static_cast<unsigned>(content.size())) > 0);
    ::gzclose(file);
    return path();
  }
  std::string path() const { return at("file"); }
};

/// All of a file, or the first thing that is wrong with it.
struct Read {
  std::vector<TraceRecord> records;
  std::vector<std::string> notes;
  std::string error;
};

Read read(const std::string& trace, const TraceOptions& options = {}) {
  Read all;
  auto reader = open_records(trace, options);
  if (!reader) return {{}, {}, reader.error().text};
  for (TraceRecord record;;) {
    auto got = (*reader)->next(record);
    if (!got) {
      all.error = got.error().text;
      auto again = (*reader)->next(record);
      CHECK((!again && again.error().text == all.error));
      return all;
    }
    if (!*got) break;
    all.records.push_back(record);
  }
  CHECK((*reader)->progress() == 1.0);
  all.notes = (*reader)->notes();
  return all;
}

/// What is wrong with a file of one format; the file's name is left out of it.
std::string error_of(const char* format, const std::string& content, const TraceOptions& options = {}) {
  const Folder folder;
  const std::string path = folder.write(content), error = read(format + (":" + path), options).error;
  return error.starts_with(path) ? error.substr(path.size()) : error;
}

bool same(const TraceRecord& a, const TraceRecord& b) {
  return a.time_ms == b.time_ms && a.space == b.space && a.priority == b.priority && a.hints == b.hints &&
         a.turn == b.turn && a.output_tokens == b.output_tokens && a.tokens == b.tokens && a.block == b.block &&
         a.ids == b.ids && a.length() == b.length();
}

/// Written in Canopy's own format and read again, the same records.
void check_import(const std::vector<TraceRecord>& records) {
  std::string lines;
  for (const TraceRecord& record : records) lines += native_line(record);
  const Folder folder;
  const Read again = read(folder.write(lines));
  CHECK(again.error == "");
  REQUIRE(again.records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(same(records[i], again.records[i]));
}

const char* const kQwen =
    R"({"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 33, "output_length": 132, "type": "text", "turn": 1, "hash_ids": [1089, 1090, 18446744073709551615]})"
    "\n"
    R"({"chat_id": 160, "parent_chat_id": 159, "timestamp": 62, "input_length": 16, "output_length": 80, "type": "text", "turn": 2, "hash_ids": [1089]})"
    "\n";

}  // namespace

TEST_CASE("Canopy's own format: tokens, ids, and all that a request may have") {
  const Folder folder;
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
  CHECK(error(R"({"time_ms": 0, "tokns": [1]})") == ":1:16: 'tokns' is no key of this format; is 'tokens' meant?");
  CHECK(error(R"({"time_ms": 0, "zzzzzzzz": [1]})") ==
        ":1:16: 'zzzzzzzz' is no key of this format; what is your own goes into \"extra\"");
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
        ":1:31: 'ids' stands beside 'tokens'; expected one of the two");
  CHECK(error(R"({"time_ms": 1, "ids": [1]})") == ":1:16: 'ids' needs 'block_size' beside it");
  CHECK(error(R"({"time_ms": 1, "ids": [1], "block_size": 0, "input_tokens": 3})") ==
        ":1:28: 'block_size' is 0; expected 1 to 65536");
  CHECK(error(R"({"time_ms": 1, "ids": [1], "block_size": 2, "input_tokens": 3})") ==
        ":1:16: 'ids' has 1 items; 'input_tokens' 3 needs 2, one for each 2 tokens");
  CHECK(error(R"({"time_ms": 1, "ids": [18446744073709551615], "block_size": 2, "input_tokens": 2})") ==
        ":1:16: 'ids' has 18446744073709551615; expected at most 9223372036854775807 with this 'block_size'");
  CHECK(error(R"({"time_ms": 1, "time_ms": 1, "tokens": []})") == ":1:16: 'time_ms' is there twice; expected it once");
  CHECK(error(R"({"time_ms": 1, "hints": ["sesion_ended"], "tokens": []})").find("is 'session_ended' meant?") !=
        std::string::npos);
  CHECK(error(R"({"time_ms": 1, "hints": [1], "tokens": []})")
            .starts_with(":1:16: item 1 of 'hints' is 1; expected a whole number, or a list of names"));
  CHECK(error(R"({"time_ms": 1, "hints": "x", "tokens": []})")
            .starts_with(":1:16: 'hints' is \"x\"; expected a whole number, or a list of names"));
  CHECK(error("7") == ":1:1: the line is a number; expected an object");
  CHECK(error("null") == ":1:1: the line is null; expected an object");
  CHECK(error(R"({"time_ms": 1, "tokens": [1)") == ":1:28: ends in the middle of its JSON; was the file cut off?");
  CHECK(error(std::string(200, '[')).starts_with(":1:1: the line is a list"));
  CHECK(error("{\"extra\": " + std::string(200, '[')).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(error("") ==
        ": has no requests; expected lines like {\"time_ms\": 0, \"tokens\": [1, 2, 3], "
        "\"output_tokens\": 50}");
}

TEST_CASE("Qwen-Bailian: 16 tokens an id, seconds, turns") {
  const Folder folder;
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
  const Folder folder;
  const Read all = read(folder.write(
      R"({"timestamp": 1766000000.25, "prompt_token_ids": [5, 6], "output_token_ids": [7, 8, 9], "model": "x"})"
      "\n"
      R"({"timestamp": 1766000001.5, "prompt_token_ids": [5, 6, 7], "output_tokens": 4, "namespace": "a"})"));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  CHECK(all.records[0].time_ms == 0);
  CHECK(all.records[0].output_tokens == 3);
  CHECK(all.records[1].time_ms == 1250);
  CHECK(all.records[1].output_tokens == 4);
  CHECK(all.records[1].space == "a");
  CHECK(all.records[1].tokens == std::vector<Token>{5, 6, 7});
  check_import(all.records);
  CHECK(error_of("tokens", R"({"prompt_tokens_ids": [1]})") ==
        ":1: 'prompt_token_ids' is missing; is 'prompt_tokens_ids' meant?");
}

TEST_CASE("SGLang's log as JSON: the prompt where it came, the answer's length where it finished") {
  const std::string came =
      R"({"timestamp": "2026-08-22T10:00:00.000001", "event": "request.received", "rid": "a", "obj": {"rid": "a", "text": null, "input_ids": [1, 2, 3], "sampling_params": {"stop": ["input_ids=[9]"]}, "extra_key": "t1", "priority": 2}})";
  const std::string finished =
      R"({"timestamp": "2026-08-22T10:00:09.5", "event": "request.finished", "rid": "a", "obj": {"input_ids": [1, 2, 3]}, "out": {"text": "x", "output_ids": [4, 5], "meta_info": {"prompt_tokens": 3, "completion_tokens": 2, "e2e_latency": 0.5}}})";
  const std::string text =
      R"({"timestamp": "2026-08-22T10:00:01", "event": "request.received", "rid": "b", "obj": {"rid": "b", "text": "hello", "input_ids": null}})";
  const Folder folder;
  const std::string log =
      folder.write("INFO: server started\n(Engine pid=7) " + came + "\n" + text + "\n" + finished + "\n");
  const Read strict = read("sglang:" + log);
  CHECK(strict.error ==
        log +
            ":3: 'obj.input_ids' is missing or null: the request came as text, or the log is not of level 3; "
            "`canopy trace import` leaves such requests out");
  const Read all = read("sglang:" + log, {.leave_out = true});
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 1);
  CHECK(all.records[0].tokens == std::vector<Token>{1, 2, 3});
  CHECK(all.records[0].output_tokens == 2);
  CHECK(all.records[0].space == "t1");
  CHECK(all.records[0].priority == 2);
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0] == "1 request came without token ids and is left out");
  check_import(all.records);
  // Level 2 leaves out the middle of a list.
  CHECK(error_of("sglang", R"({"event": "request.received", "rid": "a", "obj": {"input_ids": [1, "...", 2]}})") ==
        ":1:51: item 2 of 'obj.input_ids' is \"...\"; expected a whole number from 0 to 4294967295; was the log "
        "written with "
        "--log-requests-level 3?");
  CHECK(error_of("sglang", "INFO: server started\n") ==
        ": has no requests; expected a log of SGLang with the requests' token ids: --log-requests --log-requests-level "
        "3");
}

TEST_CASE("SGLang's log as text: what stands in quotes is not believed") {
  const std::string came =
      "[2026-12-31 23:59:59] Receive: obj=GenerateReqInput(rid='a', text='it\\'s input_ids=[9, 9]', input_ids=[1, 2], "
      "extra_key='t', priority=3, stop=\"input_ids=[7]\")\n";
  const std::string later = "[2026-01-01 00:00:01] Receive: obj=GenerateReqInput(rid='b', input_ids=[1])\n";
  const std::string finished =
      "[2026-01-01 00:00:02] Finish: obj=GenerateReqInput(rid='a', input_ids=[1, 2]), out={'text': "
      "\"'completion_tokens': 99\", "
      "'output_ids': [3], 'meta_info': {'completion_tokens': 1}}\n";
  const Folder folder;
  const Read all = read("sglang:" + folder.write(came + later + finished));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  CHECK(all.records[0].tokens == std::vector<Token>{1, 2});
  CHECK(all.records[0].space == "t");
  CHECK(all.records[0].priority == 3);
  CHECK(all.records[0].output_tokens == 1);
  CHECK(all.records[0].time_ms == 0);
  CHECK(all.records[1].time_ms == 2000);  // the year has gone by in between
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0].starts_with("the log does not say how long the answers to 1 request are"));
  CHECK(error_of("sglang", "Receive: obj=GenerateReqInput(input_ids=[1, 2] ... [3, 4])\n")
            .find("the middle of the token ids was left out of the log") != std::string::npos);
  CHECK(error_of("sglang", "Receive: obj=GenerateReqInput(input_ids=[1, x])\n") ==
        ":1:45: 'x])' among the token ids; expected whole numbers from 0 to 4294967295");
  CHECK(error_of("sglang", "Receive: obj=GenerateReqInput(input_ids=[1, 2\n") ==
        ":1:46: ends in the middle of its token ids; was the line cut off?");
}

TEST_CASE("vLLM's log, old and new") {
  const std::string log =
      "INFO 08-06 10:19:36 [logger.py:41] Received request cmpl-1-0: prompt: \"prompt_token_ids: [9]\", params: "
      "SamplingParams(n=1, stop=[]), prompt_token_ids: [128000, 5519], prompt_embeds shape: None, lora_request: "
      "LoRARequest(lora_name='law', lora_int_id=1).\n"
      "INFO 08-06 10:19:36 [async_llm.py:273] Added request cmpl-1-0.\n"
      "DEBUG 08-06 10:19:37 [logger.py:50] Request cmpl-2-0 details: prompt: 'a', prompt_token_ids: [1], prompt_embeds "
      "shape: None.\n"
      "INFO 08-06 10:19:37 [logger.py:60] Received request cmpl-2-0: params: SamplingParams(n=1), lora_request: None.\n"
      "INFO 08-06 10:19:38 [logger.py:80] Generated response cmpl-1-0 (streaming delta): output: 'x', "
      "output_token_ids: [1, "
      "2], finish_reason: None\n"
      "INFO 08-06 10:19:38 [logger.py:80] Generated response cmpl-1-0 (streaming delta): output: 'x', "
      "output_token_ids: [3], "
      "finish_reason: stop\n"
      "INFO 08-06 10:19:38 [logger.py:80] Generated response cmpl-2-0: output: 'output_token_ids: [1, 2, 3]', "
      "output_token_ids: [1, 2, 3, 4], finish_reason: stop\n";
  const Folder folder;
  const Read all = read("vllm:" + folder.write(log));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  CHECK(all.records[0].tokens == std::vector<Token>{128000, 5519});
  CHECK(all.records[0].space == "law");
  CHECK(all.records[0].output_tokens == 3);
  CHECK(all.records[1].time_ms == 1000);
  CHECK(all.records[1].output_tokens == 4);
  CHECK(all.notes.empty());
  check_import(all.records);
  CHECK(error_of("vllm", "Received request a: prompt: 'x', prompt_token_ids: None, lora_request: None.\n")
            .find("came as text") != std::string::npos);

  // A log that keeps the first ids of each prompt looks whole line by line.
  std::string cut;
  for (int i = 0; i < 9; ++i)
    cut +=
        "Received request r" + std::to_string(i) + ": prompt: '', prompt_token_ids: [1, 2, 3], lora_request: None.\n";
  const Read short_ones = read("vllm:" + folder.write(cut));
  REQUIRE(short_ones.notes.size() == 2);
  CHECK(short_ones.notes[1] ==
        "9 prompts have 3 tokens, and none has more: was the log cut, as vLLM's --max-log-len does?");
}

TEST_CASE("conversations: a request for each answer, and they take turns") {
  const std::string two = R"([
  {"id": "x", "conversations": [
    {"from": "human", "value": "Hello, world"}, {"from": "gpt", "value": "Hi"},
    {"from": "human", "value": "More { \" ["}, {"from": "gpt", "value": "No more today"}]},
  {"messages": [{"role": "system", "content": "Hello"}, {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"}]},
  {"conversations": [{"from": "human", "value": "nobody answers"}]}
])";
  const Folder folder;
  const Read all = read("sharegpt:" + folder.write(two));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 3);
  CHECK(all.records[0].turn == 1);
  CHECK(all.records[1].turn == 1);
  CHECK(all.records[2].turn == 2);
  CHECK(all.records[0].tokens.size() == 5);  // "Hello", ",", " world" between two marks
  CHECK(all.records[0].output_tokens == 1);
  CHECK(all.records[2].output_tokens == 3);
  // The next turn begins with the last one and its answer.
  const auto &first = all.records[0].tokens, &second = all.records[2].tokens;
  REQUIRE(second.size() > first.size() + 2);
  CHECK(std::equal(first.begin(), first.end(), second.begin()));
  CHECK(all.records[1].tokens[1] == first[1]);  // the same word is the same token
  REQUIRE(all.notes.size() == 2);
  CHECK(all.notes[1] == "1 conversation without an answer left out");
  check_import(all.records);
  // One at a time: in the file's order.
  const Read one = read("sharegpt:" + folder.path(), {.conversations = 1});
  REQUIRE(one.records.size() == 3);
  CHECK(one.records[1].turn == 2);

  CHECK(error_of("sharegpt", "[\n {\"conversations\": [{\"from\": \"human\"}]}]") ==
        ":2:2: message 1 has no text; expected 'value' or 'content'");
  CHECK(error_of("sharegpt", "[\n {\"conversations\": [\n{\"from\": \"hu}\"]}]").starts_with(":3:"));
  CHECK(error_of("sharegpt", "[\n {\"conversations\":\n [}]}").starts_with(":3:3: not JSON"));
  CHECK(error_of("sharegpt", "[\n {\"a\": 1e999}]").starts_with(":2:2: a number that is beyond any number"));
  CHECK(error_of("sharegpt", "[{\"conversations\": [") ==
        ":1:21: the file ends within the object that begins in line 1; was it cut off?");
  CHECK(error_of("sharegpt", "[ ") == ":1:3: the file ends within its list; was it cut off?");
  CHECK(error_of("sharegpt", "x") == ":1:1: 'x'; expected an object, alone on its line or in a list");
  CHECK(error_of("sharegpt", "[]").starts_with(": has no answers; expected conversations like"));
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
  const Folder folder;
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

TEST_CASE("a packed file is read as it is, and a damaged one is not believed") {
  const Folder folder;
  std::string many;
  for (int i = 0; i < 2000; ++i) many += kQwen;
  const Read plain = read(folder.write(many));
  const Read packed = read(folder.write_packed(many));
  CHECK(packed.error == "");
  REQUIRE(packed.records.size() == 4000);
  for (std::size_t i = 0; i < packed.records.size(); ++i) CHECK(same(packed.records[i], plain.records[i]));

  const auto size = fs::file_size(folder.path());
  fs::resize_file(folder.path(), size - 12);
  CHECK(read("qwen:" + folder.path()).error.find("the gzip data ends too early; was the file cut off?") !=
        std::string::npos);
  folder.write_packed(many);
  std::fstream file(folder.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size - 8));  // the sum of what was packed
  file << "sum!";
  file.close();
  CHECK(read("qwen:" + folder.path()).error.find("the gzip data is damaged") != std::string::npos);
}
