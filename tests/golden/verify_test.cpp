/// Recordings that `canopy-dev verify` accepts, and differences that it must notice. The recording here was written for
/// the test; those of SGLang itself are golden_test.cpp's.
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <unistd.h>
#include <verify/verify_recording.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace canopy;
using namespace canopy::test;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOperations[] = {
    R"({"i": 0, "op": "insert", "toks": [1, 1, 1, 1, 2, 2, 2, 2, 9], "ns": null, "v": [4, 5, 6, 7, 8, 9, 10, 11, 12],
        "pr": 0, "chunked": false, "ret": 0, "ev": 8, "pr_": 0, "total": 8, "clk": 5, "leaves": 1})",
    R"({"i": 2, "op": "insert", "toks": [1, 1, 1, 1, 3, 3, 3, 3], "ns": null, "v": [12, 13, 14, 15, 16, 17, 18, 19],
        "pr": 0, "chunked": false, "ret": 4, "ev": 12, "pr_": 0, "total": 12, "clk": 10, "leaves": 2})",
    R"({"i": 3, "op": "match", "toks": [1, 1, 1, 1, 2, 2, 2, 2], "ns": null, "ret": [4, 5, 6, 7, 8, 9, 10, 11],
        "ev": 12, "pr_": 0, "total": 12, "clk": 11, "leaves": 2})",
    R"({"i": 4, "op": "lock", "toks": [1, 1, 1, 1], "ns": null, "ret": [4, 5, 6, 7], "delta": -4, "ev": 8, "pr_": 4,
        "total": 12, "clk": 12, "leaves": 2})",
    R"({"i": 5, "op": "evict", "n": 3, "ret": 4, "freed": [[16, 17, 18, 19]], "ev": 4, "pr_": 4, "total": 8, "clk": 12,
        "leaves": 1})",
    R"({"i": 49, "op": "unlock", "k": 0, "delta": 4, "ev": 8, "pr_": 0, "total": 8, "clk": 12, "leaves": 1,
        "tree": [[0, [1, 1, 1, 1], [4, 5, 6, 7], 0, 2, 0, 12, 8], [1, [2, 2, 2, 2], [8, 9, 10, 11], 0, 1, 0, 11, 5]]})"};
constexpr const char* kEnd = "{\"end\": 1, \"priority_ties_seen\": 0}\n";

struct File {
  fs::path folder = fs::temp_directory_path() / ("canopy-verify-" + std::to_string(::getpid()));
  std::string path = folder / "lru_page4_plain_seed1.jsonl";
  File() { fs::create_directories(folder); }
  ~File() { fs::remove_all(folder); }
};

std::string text_of(const std::vector<Json>& operations) {
  std::string text;
  for (const Json& operation : operations) text += operation.dump() + "\n";
  return text;
}

std::vector<Json> operations() {
  std::vector<Json> all;
  for (const char* operation : kOperations) all.push_back(Json::parse(operation));
  return all;
}

/// "" if it agrees, "differs", or why it is no recording.
std::string verdict(const std::string& bytes) {
  const File file;
  std::ofstream(file.path, std::ios::binary) << bytes;
  const auto verdict = verify::verify_recording(file.path, plugins());
  if (!verdict) return verdict.error().text.substr(verdict.error().text.find(".jsonl:") + 7);
  return verdict->difference.empty() ? "" : "differs";
}

/// Calls `change` with each number of a value and the name of the field it is in.
template <class Change>
void each_number(Json& value, const std::string& field, Change&& change) {
  if (value.is_number()) change(value, field);
  if (value.is_object())
    for (auto& [key, inner] : value.items()) each_number(inner, key, change);
  if (value.is_array())
    for (Json& inner : value) each_number(inner, field, change);
}

std::string gzipped(const std::string& text) {
  std::string out(text.size() + 1024, '\0');
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

TEST_CASE("verify: a number that is no whole one in its range is refused wherever it stands") {
  std::vector<Json> all = operations();
  REQUIRE(verdict(text_of(all) + kEnd) == "");
  std::size_t tried = 0;
  for (Json& operation : all)
    each_number(operation, "", [&](Json& number, const std::string& field) {
      CAPTURE(field);
      const Json good = number;
      for (const Json& bad : {Json(good.get<double>() + 0.25), Json(good.get<double>()), Json(nullptr),
                              Json(good.dump()), Json(true), Json(1e300)}) {
        number = bad;
        CAPTURE(bad.dump());
        CHECK(verdict(text_of(all) + kEnd).find("not a line of a recording") != std::string::npos);
        ++tried;
      }
      // Numbers that a narrower type would make the right one again.
      for (const std::uint64_t wrap : {std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
        number = good.is_number_unsigned() ? Json(good.get<std::uint64_t>() + wrap) : Json(wrap);
        if (field != "i") CHECK(verdict(text_of(all) + kEnd) != "");
      }
      number = -5;
      CHECK(verdict(text_of(all) + kEnd) != (field == "pr" ? "refused" : ""));
      number = good;
    });
  CHECK(tried > 500);
}

TEST_CASE("verify: a number that is one more is noticed, but where nothing can be seen of it") {
  std::vector<Json> all = operations();
  for (Json& operation : all)
    each_number(operation, "", [&](Json& number, const std::string& field) {
      // The order of the operations stays; lru knows no priority; half a page more is the same page to evict.
      if (field == "i" || field == "pr" || field == "n") return;
      CAPTURE(field);
      CAPTURE(operation.dump());
      const Json good = number;
      number = good.get<std::int64_t>() + 1;
      // Tokens after the last whole page are not kept, and the words of a node that was evicted are never looked at.
      const bool is_tail = operation["i"] == 0 && (field == "v" ? good == 12 : field == "toks" && good == 9);
      const bool is_evicted = operation["i"] == 2 && field == "toks" && good == 3;
      if (is_tail || is_evicted) CHECK(verdict(text_of(all) + kEnd) == "");
      else CHECK(verdict(text_of(all) + kEnd) != "");
      number = good;
    });
}

TEST_CASE("verify: slots, operations and trees that are missing or too many are noticed") {
  const std::vector<Json> good = operations();
  const auto changed = [&](std::size_t line, auto&& change) {
    std::vector<Json> all = good;
    change(all[line]);
    return verdict(text_of(all) + kEnd);
  };
  CHECK(changed(0, [](Json& line) { line["v"].push_back(13); }).find("'v' has 10 slots for 9 tokens") !=
        std::string::npos);
  CHECK(changed(0, [](Json& line) { line["v"].erase(8); }).find("'v' has 8 slots for 9 tokens") != std::string::npos);
  CHECK(changed(2, [](Json& line) { line["ret"].push_back(12); }).find("not whole pages") != std::string::npos);
  CHECK(changed(2, [](Json& line) { line["ret"] = {4, 5, 6, 7}; }) == "differs");
  CHECK(changed(2, [](Json& line) { line["ret"][5] = 10; }).find("the slots of a page are consecutive") !=
        std::string::npos);
  CHECK(changed(4, [](Json& line) { line["freed"] = Json::array(); }) == "differs");
  CHECK(changed(4, [](Json& line) { line["freed"][0][3] = 20; }).find("expected 19") != std::string::npos);
  CHECK(changed(5, [](Json& line) { line["tree"][1][2][1] = 10; }).find("slot 2 of 'slots in row 2") !=
        std::string::npos);
  CHECK(changed(5, [](Json& line) { line["tree"].erase(1); }) == "differs");
  CHECK(changed(5, [](Json& line) { line["tree"][1].push_back(1); }).find("not a list of 8 values") !=
        std::string::npos);
  CHECK(changed(5, [](Json& line) { line.erase("tree"); }).find("tree") != std::string::npos);
  CHECK(changed(3, [](Json& line) { line["ns"] = 5; }).find("'ns' is neither") != std::string::npos);
  CHECK(changed(0, [](Json& line) { line["chunked"] = 1; }).find("'chunked' is neither") != std::string::npos);
  CHECK(changed(3, [](Json& line) { line["i"] = 3; }).find("'i' is 3; expected 4 or more") != std::string::npos);
}

TEST_CASE("verify: a file ends with its end line and holds an operation, and nothing stands behind either") {
  const std::string text = text_of(operations());
  CHECK(verdict(text).find("ends before its last line") != std::string::npos);
  CHECK(verdict(kEnd).find("it has no operation") != std::string::npos);
  CHECK(verdict("").find("ends before") != std::string::npos);
  for (const char* more : {"\n", "x", "{}\n", "{\"end\": 1, \"priority_ties_seen\": 0}\n"})
    CHECK(verdict(text + kEnd + more).find("there are bytes after the line that ends") != std::string::npos);
  for (const char* end : {"{\"end\": 0}", "{\"end\": 0, \"op\": \"insert\", \"ret\": 999}", "{\"end\": 1}",
                          "{\"end\": 1, \"priority_ties_seen\": 3}", "{\"end\": 1.0, \"priority_ties_seen\": 0}"})
    CHECK(verdict(end + ("\n" + text) + kEnd) != "");
  CHECK(verdict("[1]\n" + text + kEnd).find("it is not an object") != std::string::npos);

  const std::string whole = gzipped(text + kEnd);
  CHECK(verdict(whole) == "");
  CHECK(verdict(gzipped(text) + gzipped(kEnd)) == "");  // as gzip reads two files in a row
  for (const char* behind : {"x", "xyz", "\x1f\x8b"})
    CHECK(verdict(whole + behind).find("the gzip data is followed by other bytes") != std::string::npos);
  CHECK(verdict(whole + std::string(512, '\0')) == "");  // padding, which gzip ignores
  CHECK(verdict(whole + gzipped("x")).find("there are bytes after the line") != std::string::npos);
  for (std::size_t cut = 1; cut < whole.size(); cut += 7) CHECK(verdict(whole.substr(0, cut)) != "");
  std::string flipped = whole;
  flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 1);  // the checksum
  CHECK(verdict(flipped).find("the gzip data is damaged") != std::string::npos);
  CHECK(verdict(gzipped(std::string(std::size_t{66} << 20, ' '))).find("is longer than") != std::string::npos);

  const File file;
  CHECK(verify::verify_recording(file.folder / "lru_page4_plain_seed2.jsonl", plugins())
            .error()
            .text.find("cannot be opened: No such file") != std::string::npos);
  fs::create_directory(file.folder / "lru_page4_plain_seed3.jsonl");
  CHECK(verify::verify_recording(file.folder / "lru_page4_plain_seed3.jsonl", plugins())
            .error()
            .text.find("is a folder; expected a regular file") != std::string::npos);
}
