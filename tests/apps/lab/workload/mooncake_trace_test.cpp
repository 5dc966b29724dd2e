#include <doctest/doctest.h>
#include <support/folder.h>
#include <sys/stat.h>
#include <unistd.h>
#include <workload/mooncake_line.h>
#include <workload/mooncake_trace.h>
#include <workload/text.h>
#include <workload/trace_formats.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using namespace canopy;
using namespace canopy::workload;
namespace fs = std::filesystem;

struct Folder : test::Folder {
  std::string path(const char* name = "trace.jsonl") const { return at(name); }
  std::string write(const std::string& content) const { return file("trace.jsonl", content); }
};

std::string line_of(const std::string& timestamp, const std::string& input, const std::string& output,
                    const std::string& ids) {
  return R"({"timestamp": )" + timestamp + R"(, "input_length": )" + input + R"(, "output_length": )" + output +
         R"(, "hash_ids": )" + ids + "}";
}

std::unique_ptr<RequestSource> open_good(const std::string& path) {
  auto trace = open_mooncake_trace(path);
  REQUIRE_MESSAGE(trace, (trace ? "" : trace.error().text));
  return std::move(*trace);
}

bool next_good(RequestSource& trace, ClientRequest& request) {
  auto got = trace.next(request);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  return *got;
}

/// The first error of a file, opening included; "" if it has none.
std::string first_error(const std::string& path) {
  auto trace = open_mooncake_trace(path);
  if (!trace) return trace.error().text;
  ClientRequest request;
  for (;;) {
    auto got = (*trace)->next(request);
    if (!got) return got.error().text;
    if (!*got) return {};
  }
}

std::string nested(std::size_t levels) {
  return R"({"extra": )" + std::string(levels, '[') + std::string(levels, ']') + "}";
}

TEST_CASE("the tokens of a block are splitmix64 of their place") {
  // Vigna's published values for the seeds 0 and 1234567.
  CHECK(splitmix64(0) == 0xE220A8397B1DCDAFu);
  CHECK(splitmix64(1234567) == 6457827717110365317u);

  const Folder folder;
  const auto trace = open_good(folder.write(line_of("27", "1027", "500", "[0, 182789, 36028797018963967]") + "\n" +
                                            line_of("30", "2", "1", "[1]")));
  ClientRequest request;
  REQUIRE(next_good(*trace, request));
  CHECK(request.arrival_ms == 27);
  CHECK(request.output_tokens == 500);
  CHECK(request.space.empty());
  REQUIRE(request.prompt.size() == 1027);
  CHECK(std::vector<Token>(request.prompt.begin(), request.prompt.begin() + 4) ==
        std::vector<Token>{47535, 54465, 60110, 3053});
  CHECK(request.prompt[511] == 28382);
  CHECK(std::vector<Token>(request.prompt.begin() + 512, request.prompt.begin() + 515) ==
        std::vector<Token>{72105, 16738, 3688});
  CHECK(request.prompt[1023] == 112693);
  CHECK(request.prompt[1024] == 68610);
  CHECK(request.prompt[1025] == 7207);
  REQUIRE(next_good(*trace, request));
  CHECK(request.prompt == std::vector<Token>{51302, 4121});
  CHECK(!next_good(*trace, request));
  CHECK(!next_good(*trace, request));
}

TEST_CASE("what a trace may contain") {
  const Folder folder;
  const std::string good = line_of("5", "3", "1", "[7]");
  for (const std::string& content : std::vector<std::string>{
           good,                            // no line end behind the last
           good + "\r\n",                   // CRLF
           "\n  \t\n\r\n" + good + "\n\n",  // blank lines
           "\xEF\xBB\xBF" + good,           // a byte order mark
           R"({"hash_ids":[7],"output_length":1,"input_length":3,"timestamp":5})",
           R"({"v": {"a": [1, {"b": null}], "a": -1e300, "timestamp": "x"}, )" + good.substr(1),
       }) {
    CAPTURE(content);
    const auto trace = open_good(folder.write(content));
    ClientRequest request;
    REQUIRE(next_good(*trace, request));
    CHECK(request.arrival_ms == 5);
    CHECK(request.prompt == std::vector<Token>{token_at(7 * 512), token_at(7 * 512 + 1), token_at(7 * 512 + 2)});
    CHECK(!next_good(*trace, request));
    CHECK(trace->progress() == 1.0);
  }
}

TEST_CASE("an empty prompt and clocks that go back are fine, the order is the file's") {
  const Folder folder;
  const auto trace = open_good(folder.write(line_of("9", "0", "0", "[]") + "\n" + line_of("4", "1", "0", "[1]")));
  ClientRequest request;
  request.space = "left over";
  request.priority = 3;
  request.prompt = {1, 2, 3};
  REQUIRE(next_good(*trace, request));
  CHECK(request.prompt.empty());
  CHECK(request.space.empty());
  CHECK(request.priority == 0);
  CHECK(trace->progress() > 0.0);
  CHECK(trace->progress() < 1.0);
  REQUIRE(next_good(*trace, request));
  CHECK(request.arrival_ms == 4);
}

TEST_CASE("errors of hostile lines say what is wrong with them") {
  const std::string not_json = "not JSON", cut = "ends in the middle of its JSON";
  const std::string count = "expected a whole number of tokens from 0 to 20000000";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"hello", not_json},
      {"{", cut},
      {R"({"timestamp": 0, "input_le)", cut},
      {R"({"timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": [1)", cut},
      {R"({"timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": [1])", cut},
      {line_of("0", "5", "1", "[1]") + "}", not_json},
      {line_of("0", "5", "1", "[1]") + line_of("0", "5", "1", "[1]"), not_json},
      {line_of("0", "5", "1", "[1],"), not_json},
      {line_of("0", "5", "1", "[1,]"), not_json},
      {R"({'timestamp': 0})", not_json},
      {R"({"timestamp": 0 /* ms */})", not_json},
      {"{\"timestamp\": 0, \"x\": \"\xFF\"}", not_json},
      {"{\"timestamp\": 0, \"x\": \"\x1b[2J\"}", not_json},
      {R"({"timestamp": 0, "x": "\ud800"})", not_json},
      {R"(["timestamp", 0])", "the line is a list; expected an object like"},
      {"42", "the line is 42; expected an object"},
      {"null", "the line is null; expected an object"},
      {R"("timestamp")", "the line is \"timestamp\"; expected an object"},
      {"{}", "'input_length' is missing"},
      {R"({"input_length": 5, "output_length": 1, "hash_ids": [1]})", "'timestamp' is missing"},
      {R"({"timestamp": 0, "input_length": 5, "output_length": 1, "hash_idz": [1]})",
       "'hash_ids' is missing; is 'hash_idz' a misspelling of it?"},
      {R"({"timestamp": 0, "input_length": 5, "output_lenght": 1, "hash_ids": [1]})",
       "'output_length' is missing; is 'output_lenght' a misspelling of it?"},
      {R"({"timestamp": 0, "created_time": 1, "input_length": 5})", "'timestamp' and 'created_time' differ"},
      {R"({"created_time": 0, "created_time": 0, "input_length": 5})", "'created_time' is there twice"},
      {R"({"timestamp": null, "input_length": 5})", "'timestamp' is missing"},
      {R"({"timestamp": 0, "input_lenght": 5, "output_length": 1, "hash_ids": [1]})",
       "'input_length' is missing; is 'input_lenght' a misspelling of it?"},
      {line_of("0", "-3", "1", "[1]"), "'input_length' is -3; " + count},
      {line_of("0", "3.0", "1", "[1]"), "'input_length' is 3.0; " + count},
      {line_of("0", "1e3", "1", "[1]"), "'input_length' is 1e3; " + count},
      {line_of("0", "1e999", "1", "[1]"), "'input_length' is 1e999; " + count},
      {line_of("0", "100000001", "1", "[1]"), "'input_length' is 100000001; " + count},
      {line_of("0", "4294967297", "1", "[1]"), "'input_length' is 4294967297; " + count},
      {line_of("0", "18446744073709551616", "1", "[1]"), "'input_length' is 18446744073709551616; " + count},
      {line_of("0", "-9223372036854775809", "1", "[1]"), "'input_length' is -9223372036854775809; " + count},
      {line_of("0", R"("5")", "1", "[1]"), "'input_length' is \"5\"; " + count},
      {line_of("0", "true", "1", "[1]"), "'input_length' is true; " + count},
      {line_of("0", "null", "1", "[1]"), "'input_length' is null; " + count},
      {line_of("0", "[5]", "1", "[1]"), "'input_length' is a list; " + count},
      {line_of("0", R"({"n": 5})", "1", "[1]"), "'input_length' is an object; " + count},
      {line_of("0", "NaN", "1", "[1]"), not_json},
      {line_of("0", "Infinity", "1", "[1]"), not_json},
      {line_of("0", "+5", "1", "[1]"), not_json},
      {line_of("0", "0x10", "1", "[1]"), not_json},
      {line_of("0", "007", "1", "[1]"), not_json},
      {line_of("0", "5", "-1", "[1]"), "'output_length' is -1; " + count},
      {line_of("0", "5", "99999999999", "[1]"), "'output_length' is 99999999999; " + count},
      {line_of("-1", "5", "1", "[1]"), "'timestamp' is -1; expected a number of milliseconds from 0 to "},
      {line_of("18446744073709551615", "5", "1", "[1]"), "'timestamp' is 18446744073709551615; expected"},
      {line_of("0", "5", "1", "1"), "'hash_ids' is 1; expected a list of whole numbers"},
      {line_of("0", "5", "1", "{}"), "'hash_ids' is an object; expected a list"},
      {line_of("0", "5", "1", "null"), "'hash_ids' is null; expected a list"},
      {line_of("0", "5", "1", "[]"), "'hash_ids' has 0 ids; 'input_length' 5 needs 1, one per 512 tokens"},
      {line_of("0", "513", "1", "[1]"), "'hash_ids' has 1 id; 'input_length' 513 needs 2"},
      {line_of("0", "20000000", "1", "[1, 2]"), "'hash_ids' has 2 ids; 'input_length' 20000000 needs 39063, one per"},
      {line_of("0", "5", "1", "[1.5]"), "id 1 of 'hash_ids' is 1.5; expected"},
      {line_of("0", "5", "1", "[[1]]"), "id 1 of 'hash_ids' is a list; expected"},
      {line_of("0", "5", "1", "[{}]"), "id 1 of 'hash_ids' is an object; expected"},
      {line_of("0", "5", "1", R"([""])"), "id 1 of 'hash_ids' is \"\"; expected a whole number or a text"},
      {R"({"timestamp": 0, "timestamp": 0})", "'timestamp' is there twice; expected it once"},
      {R"({"hash_ids": [1], "hash_ids": [1]})", "'hash_ids' is there twice"},
      {R"({"time\u0073tamp": 0, "timestamp": 0})", "'timestamp' is there twice"},
      {line_of("0", "5", "1", "[1]") + std::string(1, '\0') + "x", ":73: a NUL byte; expected text"},
      {R"({"x": 1e999, "timestamp": 0})", ":11: 1e999 is too large for a number"},
      {nested(8), "nested deeper than 8 levels"},
      {nested(200'000), "nested deeper than 8 levels"},
      {std::string(5'000'000, '['), "the line is a list"},
      {R"({"timestamp": 0, "x": )" + std::string(100, '9') + "y}", not_json},
      {line_of("0", std::string(100'000, '9'), "1", "[1]"),
       "'input_length' is 9999999999999999999999999999999999999999...;"},
  };
  CHECK(table.size() >= 40);
  const Folder folder;
  for (const auto& [line, part] : table) {
    CAPTURE(line.substr(0, 200));
    const std::string path = folder.write(line_of("0", "5", "1", "[1]") + "\n" + line + "\n");
    const std::string error = first_error(path);
    CHECK_MESSAGE(error.find(part) != error.npos, error);
    CHECK_MESSAGE(error.starts_with(path + ":2:"), error);
    CHECK(error.size() < path.size() + 250);
    for (const char c : error) CHECK((c >= ' ' && c <= '~'));
  }
  CHECK(first_error(folder.write(nested(7) + "\n")).find("'input_length' is missing") != std::string::npos);
}

TEST_CASE("ids are names: hashes of 64 bits, signed numbers and texts are equal where they are equal") {
  const auto ids_of = [](const std::string& list, const char* length = "1024") {
    MooncakeLine line;
    REQUIRE_FALSE(line.read(line_of("0", length, "1", list)));
    return line.hash_ids;
  };
  for (const char* same : {"[-3, 3]", "[18446744073709551615, 1]", R"(["9f86d081884c7d65", "a1"])"}) {
    CAPTURE(same);
    // An id in front of them changes nothing.
    const std::string before = "[4, " + std::string(same).substr(1);
    const auto alone = ids_of(same), behind = ids_of(before, "1536");
    REQUIRE(alone.size() == 2);
    CHECK(std::vector(behind.begin() + 1, behind.end()) == alone);
    CHECK(alone[0] != alone[1]);
    for (const std::uint64_t id : ids_of(same)) CHECK(id <= ~std::uint64_t{0} / kMooncakeBlock);
  }
  CHECK(ids_of("[-3, 3]")[0] != ids_of("[-4, 3]")[0]);
  CHECK(ids_of("[-3, 509]")[0] != 509);
  CHECK(ids_of(R"(["12", "21"])")[0] != ids_of(R"(["21", "12"])")[0]);
  CHECK(ids_of("[7, 36028797018963967]") == std::vector<std::uint64_t>{7, 36028797018963967});
}

TEST_CASE("times with fractions, the other names, and lines without lengths of answers or ids") {
  const Folder folder;
  auto trace =
      open_trace(folder.write(R"({"created_time": 2000.5, "input_tokens": 512, "output_tokens": 4, "hash_ids": [1]})"
                              "\n"
                              R"({"timestamp": 2001.0, "input_length": 600})"
                              "\n"
                              R"({"timestamp": 2002, "input_length": 600})"
                              "\n"));
  REQUIRE(trace);
  ClientRequest first, second, third;
  REQUIRE(next_good(**trace, first));
  REQUIRE(next_good(**trace, second));
  REQUIRE(next_good(**trace, third));
  CHECK(first.arrival_ms == 2001);
  CHECK(first.output_tokens == 4);
  CHECK(first.prompt.size() == 512);
  CHECK(second.prompt.size() == 600);
  CHECK(second.prompt != third.prompt);
  const auto notes = (*trace)->notes();
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].starts_with("2 requests have lengths and no hash_ids"));
  CHECK(notes[1].starts_with("2 requests have no output_length"));
}

TEST_CASE(
    "a turn of a session without a time comes its delay after the turn before, and turns of sessions are by time") {
  const Folder folder;
  auto trace = open_trace(
      folder.write(R"({"session_id": "a", "timestamp": 0, "input_length": 512, "output_length": 5, "hash_ids": [1]})"
                   "\n"
                   R"({"session_id": "a", "delay": 2000, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]})"
                   "\n"
                   R"({"session_id": 7, "timestamp": 100, "input_length": 512, "output_length": 5, "hash_ids": [9]})"
                   "\n"
                   R"({"session_id": 7, "delay": 50, "input_length": 512, "output_length": 5, "hash_ids": [8]})"
                   "\n"));
  REQUIRE(trace);
  std::vector<std::uint64_t> times, turns;
  for (ClientRequest request; next_good(**trace, request);) {
    times.push_back(request.arrival_ms);
    turns.push_back(request.turn);
  }
  CHECK(times == std::vector<std::uint64_t>{0, 100, 150, 2000});
  CHECK(turns == std::vector<std::uint64_t>{1, 1, 2, 2});
  const auto notes = (*trace)->notes();
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].starts_with("2 turns have no time"));
  CHECK(notes[1].starts_with("1 turn begin with another id"));
}

TEST_CASE("a session's turns are compared with its first turn that has ids") {
  const Folder folder;
  auto trace =
      open_trace(folder.write(R"({"session_id": "a", "timestamp": 0, "input_length": 512, "output_length": 5})"
                              "\n"
                              R"({"session_id": "a", "timestamp": 1, "input_length": 512, "output_length": 5, )"
                              R"("hash_ids": [8]})"
                              "\n"
                              R"({"session_id": "a", "timestamp": 2, "input_length": 1024, "output_length": 5, )"
                              R"("hash_ids": [8, 9]})"
                              "\n"));
  REQUIRE(trace);
  for (ClientRequest request; next_good(**trace, request);) {
  }
  const auto notes = (*trace)->notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("1 request have lengths and no hash_ids"));
}

TEST_CASE("null stands for an absent field, and two names of a field may have one value") {
  const Folder folder;
  auto trace = open_trace(
      folder.write(R"({"session_id": null, "delay": null, "timestamp": 3, "output_length": null, "input_length": 5})"
                   "\n"
                   R"({"session_id": "a", "timestamp": 10, "created_time": 10.0, "input_length": 5, "input_tokens": 5})"
                   "\n"
                   R"({"session_id": "a", "timestamp": null, "delay": 7, "delay_ms": null, "input_length": 5})"
                   "\n"));
  REQUIRE(trace);
  std::vector<std::uint64_t> times, turns;
  for (ClientRequest request; next_good(**trace, request);) {
    times.push_back(request.arrival_ms);
    turns.push_back(request.turn);
    CHECK(request.prompt.size() == 5);
  }
  CHECK(times == std::vector<std::uint64_t>{3, 10, 17});
  CHECK(turns == std::vector<std::uint64_t>{0, 1, 2});
  const auto notes = (*trace)->notes();
  REQUIRE(notes.size() == 3);
  CHECK(notes[2].starts_with("3 requests have no output_length"));
}

TEST_CASE("a file of no format is refused with what was found and the nearest format") {
  const Folder folder;
  const auto error = [&](const std::string& content) { return open_trace(folder.write(content)).error().text; };
  CHECK(error("hello\n").find("the line is of no format that is known; it begins with 'hello'") != std::string::npos);
  CHECK(error("{\"a\": 1}\n").find("The nearest is mooncake, lines like {\"timestamp\"") != std::string::npos);
  CHECK(error("a,b,c\n1,2,3\n").find("The nearest is csv") != std::string::npos);
  CHECK(error("INFO Received request x\n").find("python3 -m canopy.logs") != std::string::npos);
}

TEST_CASE("a trace is named by its path, or by its format and its path") {
  const Folder folder;
  const std::string path = folder.write(line_of("5", "3", "1", "[7]"));
  for (const std::string& named : {path, "mooncake:" + path}) {
    CAPTURE(named);
    auto trace = open_trace(named);
    REQUIRE(trace);
    ClientRequest request;
    CHECK(next_good(**trace, request));
    CHECK(request.prompt.size() == 3);
    CHECK(trace_name(named) == "trace.jsonl");
  }
  CHECK(open_trace("moon:" + path).error().text.starts_with("moon:" + path + ": cannot be opened"));
  CHECK(trace_help().find("mooncake (") != std::string::npos);
}

TEST_CASE("the line with the error is named exactly") {
  const Folder folder;
  std::string content;
  for (int i = 1; i < 4711; ++i) content += i % 5 == 0 ? "\r\n" : line_of(std::to_string(i), "40", "2", "[1]") + "\n";
  const std::string path =
      folder.write(content + line_of("0", "-3", "2", "[1]") + "\n" + line_of("0", "3", "2", "[1]"));
  CHECK(first_error(path) ==
        path + ":4711:18: 'input_length' is -3; expected a whole number of tokens from 0 to 20000000");

  const std::string cut = folder.write(content + line_of("0", "3", "2", "[1]").substr(0, 30));
  CHECK(first_error(cut) == cut + ":4711:31: ends in the middle of its JSON; was the file cut off?");
}

TEST_CASE("an error ends the trace") {
  const Folder folder;
  const auto trace = open_good(folder.write(R"({"timestamp": x})"
                                            "\n" +
                                            line_of("0", "1", "1", "[1]")));
  ClientRequest request;
  const auto first = trace->next(request), second = trace->next(request);
  REQUIRE(!first);
  REQUIRE(!second);
  CHECK(first.error().text == second.error().text);
}

TEST_CASE("files that are no traces") {
  const Folder folder;
  CHECK(first_error(folder.path("nowhere")).find("nowhere: cannot be opened: No such file") != std::string::npos);
  CHECK(first_error(fs::path(folder.path()).parent_path()).find("is a folder; expected a regular file") !=
        std::string::npos);
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(first_error(pipe) == pipe + ": is a pipe; expected a regular file");
  CHECK(first_error("/dev/zero") == "/dev/zero: is a device; expected a regular file");
  const std::string empty = folder.write("");
  CHECK(first_error(empty) == empty + ": has no requests; expected one JSON object per line");
  CHECK(first_error(folder.write("\n\n  \r\n")) == empty + ": has no requests; expected one JSON object per line");
}

TEST_CASE("a line is read up to 64 MiB and no further") {
  const Folder folder;
  const std::string path = folder.write(line_of("0", "1", "1", "[1]") + "\n");
  fs::resize_file(path, std::uintmax_t{1} << 40);  // a hole: no file system minds
  CHECK(first_error(path) == path + ":2: is longer than 67108864 bytes; expected one request per line");

  // As long as it may be: a blank line of exactly the limit, and what follows.
  const std::string full = folder.write(std::string(std::size_t{64} << 20, ' ') + "\n" + line_of("0", "1", "1", "[1]"));
  CHECK(first_error(full).empty());
}

TEST_CASE("a prompt of a million tokens, and the list of ids it needs") {
  const Folder folder;
  std::string ids;
  for (int i = 0; i < 1954; ++i) ids += (i == 0 ? "" : ",") + std::to_string(i % 100);
  const auto trace = open_good(folder.write(line_of("0", "1000000", "1", "[" + ids + "]")));
  ClientRequest request;
  REQUIRE(next_good(*trace, request));
  REQUIRE(request.prompt.size() == 1'000'000);
  for (const std::size_t i : std::vector<std::size_t>{0, 511, 512, 51'200, 999'999}) {
    CHECK(request.prompt[i] == token_at((i / 512 % 100) * 512 + i % 512));
  }
}

TEST_CASE("a long list of ids for a short prompt takes no room, and is refused") {
  std::string ids = "[1";
  for (int i = 0; i < 2'000'000; ++i) ids += ",2";
  MooncakeLine line;
  const auto problem = line.read(line_of("0", "600", "1", ids + "]"));
  REQUIRE(problem);
  CHECK(problem->text == "'hash_ids' has 2000001 ids; 'input_length' 600 needs 2, one per 512 tokens");
  CHECK(line.hash_ids.capacity() < 1'000'000);
}

TEST_CASE("ids stand for blocks of the size that was named, and another count of them is refused with its place") {
  const std::string good = line_of("0", "40", "1", "[7, 8, 9]"), more = line_of("0", "32", "1", "[7, 8, 9]");
  const Folder folder;
  auto trace = open_trace(folder.write(good + "\n" + more + "\n"), 16);
  REQUIRE(trace);
  ClientRequest request;
  REQUIRE(next_good(**trace, request));
  REQUIRE(request.prompt.size() == 40);
  for (const std::size_t i : std::vector<std::size_t>{0, 15, 16, 39})
    CHECK(request.prompt[i] == token_at((7 + i / 16) * 16 + i % 16));
  auto got = (*trace)->next(request);
  REQUIRE_FALSE(got);
  CHECK(got.error().text ==
        folder.path() + ":2:58: 'hash_ids' has 3 ids; 'input_length' 32 needs 2, one per 16 tokens");
  // Read in the wrong block, both directions.
  CHECK(first_error(folder.path())
            .ends_with(":1:58: 'hash_ids' has 3 ids; 'input_length' 40 needs 1, one per 512 tokens"
                       "; is it a trace for --block-size 16?"));
  MooncakeLine line;
  CHECK(line.read(line_of("0", "0", "1", "[1]"))->column == 57);
  CHECK_FALSE(line.read(line_of("0", "0", "1", "[]")));
  // An id's block must not begin beyond 2^64: what is larger is a name, and its print is not.
  MooncakeLine two(2);
  CHECK_FALSE(two.read(line_of("0", "1", "1", "[18446744073709551615]")));
  CHECK(two.hash_ids.front() <= ~std::uint64_t{0} / 2);
  CHECK_FALSE(MooncakeLine(1).read(line_of("0", "1", "1", "[18446744073709551615]")));
}

TEST_CASE("the conversation trace has 12,031 requests and 144,793,823 tokens") {
  fs::path found;
  const char* named = std::getenv("CANOPY_SHARED");
  if (named != nullptr) found = fs::path(named) / "traces/conversation_trace.jsonl";
  for (fs::path at = fs::current_path(); found.empty() && at != at.parent_path(); at = at.parent_path()) {
    if (fs::exists(at / "shared/traces/conversation_trace.jsonl"))
      found = at / "shared/traces/conversation_trace.jsonl";
  }
  if (found.empty() || !fs::exists(found)) {
    MESSAGE("SKIPPED: no shared/traces/conversation_trace.jsonl above the current folder, nor in $CANOPY_SHARED");
    return;
  }
  const auto trace = open_good(found);
  ClientRequest request;
  std::uint64_t requests = 0, tokens = 0;
  while (next_good(*trace, request)) {
    ++requests;
    tokens += request.prompt.size();
  }
  CHECK(requests == 12'031);
  CHECK(tokens == 144'793'823);
  CHECK(trace->progress() == 1.0);
}

}  // namespace
