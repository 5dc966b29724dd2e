/// Every format of traces: what a good file gives, what is said of a bad one, and that an import changes nothing.
#include <canopy/eviction_strategy.h>
#include <doctest/doctest.h>
#include <support/address_limit.h>
#include <support/folder.h>
#include <support/sanitizers.h>
#include <unistd.h>
#include <workload/formats/native_trace.h>
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

/// Returns the error of a file of one format, without the file's name.
std::string error_of(const char* format, const std::string& content, const TraceOptions& options = {}) {
  const Folder folder;
  const std::string path = folder.write(content), error = read(format + (":" + path), options).error;
  return error.starts_with(path) ? error.substr(path.size()) : error;
}

bool same(const TraceRecord& a, const TraceRecord& b) {
  return a.time_ms == b.time_ms && a.space == b.space && a.priority == b.priority && a.hints == b.hints &&
         a.turn == b.turn && a.output_tokens == b.output_tokens && a.tokens == b.tokens && a.block == b.block &&
         a.ids == b.ids && a.answer == b.answer && a.length() == b.length();
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
        ":2:2: message 1 has no text; expected 'value', 'content' or 'tool_calls'");
  CHECK(error_of("sharegpt", "[\n {\"conversations\": [\n{\"from\": \"hu}\"]}]").starts_with(":3:"));
  CHECK(error_of("sharegpt", "[\n {\"conversations\":\n [}]}").starts_with(":3:3: not JSON"));
  CHECK(error_of("sharegpt", "[\n {\"a\": 1e999}]").starts_with(":2:2: a number that is too large"));
  CHECK(error_of("sharegpt", "[{\"conversations\": [") ==
        ":1:21: the file ends within the object that begins in line 1; was it cut off?");
  CHECK(error_of("sharegpt", "[ ") == ":1:3: the file ends within its list; was it cut off?");
  CHECK(error_of("sharegpt", "x") == ":1:1: 'x'; expected an object, alone on its line or in a list");
  CHECK(error_of("sharegpt", "[]").starts_with(": has no answers; expected conversations like"));
}

TEST_CASE("conversations of agents: calls of tools, parts and reasoning are text, images are noted") {
  const Folder folder;
  const Read all = read("sharegpt:" + folder.write(R"({"messages": [
    {"role": "developer", "content": "be kind"}, {"role": "user", "content": [{"type": "text", "text": "see"},
      {"type": "image_url", "image_url": {"url": "x.png"}}]},
    {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "read", "arguments": "{}"}}]},
    {"role": "tool", "content": "line one"}, {"role": "assistant", "reasoning_content": "hm", "content": "done"},
    {"role": "user", "content": "and now"}]})"));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  const auto &first = all.records[0], &second = all.records[1];
  REQUIRE(second.tokens.size() > first.tokens.size() + first.answer.size());
  CHECK(std::equal(first.tokens.begin(), first.tokens.end(), second.tokens.begin()));
  CHECK(std::equal(first.answer.begin(), first.answer.end(),
                   second.tokens.begin() + static_cast<std::ptrdiff_t>(first.tokens.size())));
  CHECK(first.answer.size() > 5);  // the call with its name
  REQUIRE(all.notes.size() == 3);
  CHECK(all.notes[1].starts_with("1 last question without an answer left out"));
  CHECK(all.notes[2].starts_with("1 part of messages"));
}

TEST_CASE("requests as they were sent: each body is one request") {
  const Folder folder;
  const std::string system = R"({"role": "system", "content": "answer in one word"})";
  const auto body = [&](const std::string& question, const std::string& more = "") {
    return R"({"model": "m", "messages": [)" + system + R"(, {"role": "user", "content": ")" + question + "\"}]" +
           more + "}";
  };
  const auto batch = [&](const std::string& inner) { return R"({"custom_id": "r", "body": )" + inner + "}\n"; };
  // Nothing names the format: the first line does.
  const Read all = read(folder.write(batch(body("a colour")) + batch(body("a town")) + batch(body("a colour")) +
                                     batch(body("a colour", R"(, "cache_salt": "x")")) +
                                     batch(R"({"model": "other", "prompt": ["one", "two"]})") +
                                     batch(R"({"model": "m", "prompt": [1, 2, 3], "timestamp": 7.4})")));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 7);
  CHECK(all.records[0].tokens == all.records[2].tokens);
  CHECK(all.records[0].tokens != all.records[1].tokens);
  CHECK(all.records[3].space == "salt=\"x\"");
  CHECK(all.records[4].space == "model=\"other\"");
  CHECK(all.records[4].tokens != all.records[5].tokens);
  CHECK(all.records[6].tokens == std::vector<Token>{1, 2, 3});
  CHECK(all.records[6].time_ms == 7);
  REQUIRE(all.notes.size() == 3);
  CHECK(all.notes[1].starts_with("the times of 6 requests are invented"));
  CHECK(all.notes[2].starts_with("7 requests have no answer"));
  check_import(all.records);
  const Read inputs = read(folder.write("{\n \"data\": [\n  {\"session_id\": \"s\", \"payloads\": [\n" + body("a") +
                                        ",\n" + body("b") + "\n]}]}\n"));
  CHECK(inputs.error == "");
  CHECK(inputs.records.size() == 2);
  const Read ended = read("openai:" + folder.write(R"({"messages": [{"role": "user", "content": "a"},
    {"role": "assistant", "content": "b c"}]})"));
  REQUIRE(ended.records.size() == 1);
  CHECK(ended.records[0].answer.size() == 2);
  const std::string deep =
      R"({"messages": [{"role": "user", "content": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}]}";
  CHECK(error_of("openai", deep) == ":1:1: is nested deeper than 64 levels");
  CHECK(error_of("sharegpt", deep) == ":1:1: nested deeper than 64 levels");
  CHECK(error_of("openai", R"({"model": "m"})").starts_with(":1:1: has no prompt; expected 'messages'"));
  CHECK(error_of("openai", R"({"prompt": [1, -2]})").starts_with(":1:1: has a token id that is no whole number"));
  CHECK(error_of("openai", "").starts_with(": has no requests; expected lines like"));
}

TEST_CASE("a request with a prompt of its own is a body, and takes from around it what it does not say") {
  const Folder folder;
  const auto of = [&](const std::string& content) { return read("openai:" + folder.write(content)); };
  for (const char* more : {R"("data": [])", R"("payloads": [{"prompt": [9]}])", R"("request": {"id": 1})"}) {
    CAPTURE(more);
    const Read own = of(R"({"prompt": [1, 2], )" + std::string(more) + "}");
    CHECK(own.error == "");
    REQUIRE(own.records.size() == 1);
    CHECK(own.records[0].tokens == std::vector<Token>{1, 2});
  }
  CHECK(error_of("openai", R"({"data": []})") == ":1:1: has an empty list of requests");
  CHECK(of(R"({"data": [], "payload": {"prompt": [1]}})").records.size() == 1);

  const Read all = of(
      R"({"timestamp": 40, "output_length": 5, "priority": 2, "cache_salt": "x", "model": "m", "payloads": [
      {"prompt": [1]}, {"prompt": [2], "timestamp": 50.4, "output_length": 6, "priority": 3, "cache_salt": "y",
       "model": "n"}]})");
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 2);
  const auto &first = all.records[0], &second = all.records[1];
  CHECK(first.time_ms == 40);
  CHECK(second.time_ms == 50);
  CHECK(first.output_tokens == 5);
  CHECK(second.output_tokens == 6);
  CHECK(first.priority == 2);
  CHECK(second.priority == 3);
  CHECK(first.space == "salt=\"x\"");
  CHECK(second.space == "model=\"n\", salt=\"y\"");
  CHECK(all.notes.empty());
  check_import(all.records);

  const Read mistimed = of(R"({"prompt": [1], "timestamp": "noon"}
{"prompt": [1], "timestamp": -1}
{"prompt": [1]})");
  REQUIRE(mistimed.notes.size() == 3);
  CHECK(mistimed.notes[0].starts_with("the times of 3 requests are invented"));
  CHECK(mistimed.notes[1] ==
        "of these, 2 requests have a timestamp that is no number of ms from 0 to 1000000000000000");
}

TEST_CASE("the same text from another author is another prompt, and names and calls are in it") {
  const Folder folder;
  std::string lines;
  for (const char* author : {R"("role": "user")", R"("role": "system")", R"("role": "tool")", R"("role": "assistant")",
                             R"("role": "user", "name": "ann")", R"("role": "user", "name": "bob")",
                             R"("role": "tool", "tool_call_id": "a")", R"("role": "tool", "tool_call_id": "b")",
                             R"("type": "input_text")", R"("type": "note")"})
    lines += std::string(R"({"messages": [{)") + author +
             R"(, "content": "hello", "text": null}, {"role": "user", "content": "go on"}]})"
             "\n";
  const Read all = read("openai:" + folder.write(lines));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 10);
  for (std::size_t i = 0; i < all.records.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(all.records[i].tokens != all.records[j].tokens);
    }
  const Read same = read("openai:" + folder.write(R"({"messages": [{"role": "system", "content": "a"}]}
{"messages": [{"role": "developer", "content": "a"}]})"));
  REQUIRE(same.records.size() == 2);
  CHECK(same.records[0].tokens == same.records[1].tokens);
}

TEST_CASE("items of the Responses API without an author, and messages whose text is null") {
  const Folder folder;
  const std::string
      question = R"({"role": "user", "content": "time?"})",
      reasoning = R"({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]})",
      call = R"({"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"})",
      result = R"({"type": "function_call_output", "call_id": "c", "output": "noon"})",
      answer = R"({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "noon"}]})";
  const auto line = [](const std::string& items) { return R"({"input": [)" + items + "]}\n"; };
  const Read all = read("openai:" + folder.write(line(question + "," + reasoning + "," + call) +
                                                 line(question + "," + reasoning + "," + call + "," + result) +
                                                 line(question + "," + reasoning + "," + answer) +
                                                 line(R"({"type": "input_text", "text": "time?"})")));
  CHECK(all.error == "");
  REQUIRE(all.records.size() == 4);
  const auto &called = all.records[0], &returned = all.records[1], &answered = all.records[2];
  CHECK(called.tokens == answered.tokens);  // what the model wrote is one answer
  CHECK(called.answer.size() > 10);
  CHECK(called.answer != answered.answer);
  std::vector<Token> whole = called.tokens;
  whole.insert(whole.end(), called.answer.begin(), called.answer.end());
  REQUIRE(returned.tokens.size() > whole.size() + 5);  // with the name of the call and its output
  CHECK(std::equal(whole.begin(), whole.end(), returned.tokens.begin()));
  CHECK(returned.answer.empty());
  CHECK(all.notes.size() == 4);  // none on media

  const Read silent = read("sharegpt:" + folder.write(R"({"messages": [{"role": "user", "content": "a"},
    {"role": "assistant", "content": null}, {"role": "user", "content": null}, {"role": "assistant", "content": "b"}]})"));
  CHECK(silent.error == "");
  REQUIRE(silent.records.size() == 2);
  CHECK(silent.records[0].output_tokens == 0);
  CHECK(silent.records[1].tokens.size() == silent.records[0].tokens.size() + 2);
}

TEST_CASE("the keys of a file's first object decide its format, not what is within it") {
  const Folder folder;
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
  const Folder folder;
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
  const Folder folder;
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
  const Folder folder;
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

TEST_CASE("a packed file is read as it is, and a damaged one is refused") {
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

TEST_CASE("a file is not called damaged where memory ends") {
  if (test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  const Folder folder;
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
