/// Traces of texts: conversations, and requests as they were sent to a server.
#include <doctest/doctest.h>

#include <algorithm>

#include "read_trace.h"

using namespace canopy;
using namespace canopy::test;

TEST_CASE("conversations: a request for each answer, and they take turns") {
  const std::string two = R"([
  {"id": "x", "conversations": [
    {"from": "human", "value": "Hello, world"}, {"from": "gpt", "value": "Hi"},
    {"from": "human", "value": "More { \" ["}, {"from": "gpt", "value": "No more today"}]},
  {"messages": [{"role": "system", "content": "Hello"}, {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"}]},
  {"conversations": [{"from": "human", "value": "nobody answers"}]}
])";
  const TraceFolder folder;
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
  const TraceFolder folder;
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
  const TraceFolder folder;
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
  const TraceFolder folder;
  const auto of = [&](const std::string& content) { return read("openai:" + folder.write(content)); };
  for (const std::string more : {R"("data": [])", R"("payloads": [{"prompt": [9]}])", R"("request": {"id": 1})"}) {
    CAPTURE(more);
    const Read own = of(R"({"prompt": [1, 2], )" + more + "}");
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
  const TraceFolder folder;
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
  const TraceFolder folder;
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
  CHECK(called.tokens == answered.tokens);  // all items of the model are one answer
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
