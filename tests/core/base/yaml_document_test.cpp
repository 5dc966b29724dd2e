#include <canopy/base/yaml_document.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/folder.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "yaml_texts.h"

using namespace canopy;
using namespace canopy::test;
using namespace std::string_view_literals;

namespace {

/// A text that must be refused: the place, and a part of the message that distinguishes it from the others.
struct Bad {
  std::string_view text, place, part;
};

void check_refused(const std::string& error, std::string_view place, std::string_view part) {
  CAPTURE(error);
  CHECK(error.starts_with(fmt::format("t:{}: ", place)));
  CHECK(error.find(part) != std::string::npos);
}

const Bad kBad[] = {
    // Quotes. yaml-cpp takes the first ones as they are.
    {"a: \"x\nb: 1\n", "1:4", "quote that opens here"},
    {"a: \"x", "1:6", "illegal EOF in scalar"},
    {"a: 'x\n", "1:4", "quote that opens here"},
    {"a: 'it''s\n", "1:4", "quote that opens here"},
    {"a: \"x\\\"\n", "1:4", "quote that opens here"},
    {"a: \"x\\\\\\\"\n", "1:4", "quote that opens here"},
    {"a: \"x\nb: \"y\"\n", "1:4", "quote that opens here"},
    {"a: 'x\nb: '\n", "1:4", "quote that opens here"},
    {"a: [1, \"x]\n", "1:8", "quote that opens here"},
    {"a: {b: 'x}\nc: 1\n", "1:8", "quote that opens here"},
    {"a: {b: \"x, c: 1}\nd: \"x\"\n", "1:8", "quote that opens here"},
    {"# it's\na: 'b'\n\"c: 1\n", "3:1", "quote that opens here"},
    {"- \"x\n- y\n", "1:3", "quote that opens here"},
    {"a: \"\n", "1:4", "quote that opens here"},
    {"a: \"x\\\ny\"\n", "1:4", "quote that opens here"},
    {"\xC3\xA4: '\n", "1:4", "quote that opens here"},
    {"a: 'x'y\n", "1:7", "this is not YAML: end of map not found"},
    {"a: \"\\q\"\n", "1:7", "unknown escape character"},
    {"a: \"\\ud800\"\n", "1:11", "invalid unicode"},
    {"a: {\"x\\", "1:8", "unknown escape character: the end of the text"},
    {"a: \"\\\xC3\xA4\"\n", "1:7", "unknown escape character: \\xc3"},
    // Characters.
    {"a: 1\nb: \0\n"sv, "2:4", "NUL byte"},
    {"a: \"\\0\"\n", "1:4", "a NUL, even an escaped one, is not allowed"},
    {"a: \"\\N\"\n", "1:4", "an escape in this text stands for no character"},
    {"a: \"b\\_\"\n", "1:4", "an escape in this text stands for no character"},
    {"a: \x07\n", "1:4", "control character 0x07"},
    {"a: \x7F\n", "1:4", "control character 0x7F"},
    {"a: 1\rb: 2\n", "1:5", "control character 0x0D"},
    {"a: \xFF\n", "1:4", "the byte 0xFF is not UTF-8"},
    {"\xC3\xA4: \xC3\n", "1:4", "the byte 0xC3 is not UTF-8"},
    {"a: \xC0\x80\n", "1:4", "not UTF-8"},
    {"a: \xC1\xBF\n", "1:4", "not UTF-8"},
    {"a: \xE0\x9F\xBF\n", "1:4", "not UTF-8"},
    {"a: \xED\xA0\x80\n", "1:4", "not UTF-8"},
    {"a: \xF0\x8F\xBF\xBF\n", "1:4", "not UTF-8"},
    {"a: \xF4\x90\x80\x80\n", "1:4", "not UTF-8"},
    {"a: \x80\n", "1:4", "not UTF-8"},
    {"a: \xF0\x9F\x98", "1:4", "not UTF-8"},
    {"\xFF\xFE"
     "a\0"sv,
     "1:1", "not UTF-8"},
    {"a:\n\tb: 1\n", "2:1", "a tab in the indentation"},
    {"a:\n  \tb: 1\n", "2:3", "a tab in the indentation"},
    {"a: {\n\tb: 1 }\n", "2:1", "a tab in the indentation"},
    {"\ta: 1\n", "1:1", "a tab in the indentation"},
    // Parts of YAML that a configuration does not use.
    {"a: &x 1\n", "1:4", "anchors"},
    {"a: &x\n", "1:4", "anchors"},
    {"a: &x [1]\n", "1:4", "anchors"},
    {"a: &x &y 1\n", "1:7", "anchors"},
    {"&x a: 1\n", "1:1", "anchors"},
    {"&x\n- 1\n", "1:1", "anchors"},
    {"a: *x\n", "1:4", "the referenced anchor is not defined"},
    {"a: &x [*x]\n", "1:4", "anchors"},
    {"*x : 1\n", "1:1", "the referenced anchor is not defined"},
    {"a: !x 1\n", "1:4", "tags"},
    {"a: ! 1\n", "1:4", "tags"},
    {"a: !\n", "1:4", "tags"},
    {"a: !!str 1\n", "1:4", "tags"},
    {"a: !!python/object/apply:os.system [x]\n", "1:4", "tags"},
    {"a: !<tag:yaml.org,2002:str> 1\n", "1:4", "tags"},
    {"a: !x {b: 1}\n", "1:4", "tags"},
    {"!x a: 1\n", "1:1", "tags"},
    {"<<: {a: 1}\n", "1:1", "merge keys"},
    {"a: 1\nb: { <<: 2 }\n", "2:6", "merge keys"},
    // Keys.
    {"a: 1\nb: 2\na: 3\n", "3:1", "the key 'a' occurs a second time; the first is at t:1:1"},
    {"a: { b: 1, c: 2, b: 3 }\n", "1:18", "the first is at t:1:6"},
    {"a: 1\n'a': 2\n", "2:1", "a second time"},
    {"[a]: 1\n", "1:1", "cannot be a key"},
    {"{a: 1}: 1\n", "1:1", "cannot be a key"},
    {"? [a]\n: 1\n", "1:3", "cannot be a key"},
    {"? a: 1\n: 1\n", "1:3", "cannot be a key"},
    {"a: 1\n: 2\n", "2:1", "a key is missing"},
    {"~: 2\n", "1:1", "a key is missing"},
    // A second document.
    {"a: 1\n---\nb: 2\n", "2:1", "a second document begins here"},
    {"a: 1\n---\n", "2:1", "a second document begins here"},
    {"a: 1\n...\nb: 2\n", "3:1", "expected the end of the file"},
    {"'a' 'b'\n", "1:5", "expected the end of the file"},
    // Structure.
    {"a: {b: 1\nc: 2\n", "2:2", "end of map flow not found"},
    {"a: [1, 2\nb: 3\n", "2:2", "end of sequence flow not found"},
    {"a: {b: [1, {c: 2]}\n", "1:17", "illegal flow end"},
    {"{a: {b: 1}\n", "1:1", "a bracket is not closed"},
    {"a: |\n  it's \"[\nb: {\n", "4:1", "end of map flow not found"},
    {"a: {b: 1}}\n", "1:10", "illegal flow end"},
    {"a: 1\n]\n", "2:1", "illegal flow end"},
    {"a: {b: 1 c: 2}\n", "1:11", "end of map flow not found"},
    {"a: b: c\n", "1:5", "illegal map value"},
    {"a: 1\n b: 2\n", "2:3", "illegal map value"},
    {"a:\n   b: 1\n  c: 1\n", "3:3", "end of map not found"},
    {"a: x\n- b\n", "2:1", "end of map not found"},
    {"- a\nb: x\n", "2:1", "expected the end of the file"},
    {"a: @x\n", "1:4", "unknown token"},
    {"a: `x`\n", "1:4", "unknown token"},
    {"a: %x\n", "1:4", "unknown token"},
};

/// The processor time of the quickest of a few runs: other programs do not count.
template <class Run>
double milliseconds(const Run& run) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    run();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

TEST_CASE("yaml: what is refused, where and why") {
  for (const Bad& bad : kBad) {
    CAPTURE(bad.text);
    const auto document = parse_yaml(bad.text, "t");
    REQUIRE(!document);
    check_refused(document.error().text, bad.place, bad.part);
  }
}

TEST_CASE("yaml: what looks wrong and is not") {
  const std::pair<std::string_view, std::string_view> kGood[] = {
      {"", "null"},
      {"# only a comment, it's \"one\n", "null"},
      {"a: it's\n", "{a:it's}"},
      {"a: x\"y # it's \"\n", "{a:x\"y}"},
      {"a: 'it''s'\nb: ''\nc: ''''\n", "{a:'it's',b:'',c:'''}"},
      {"a: \"x\\\"y\"\nb: \"\\\\\"\nc: \"\"\n", "{a:'x\"y',b:'\\',c:''}"},
      {"a: \"#\"  # '\nb: 'x # y'\n", "{a:'#',b:'x # y'}"},
      {"a: [x'y, 'z]', \"}\", {b: \"'\"}]\n", "{a:[x'y,'z]','}',{b:'''}]}"},
      {"a: |\n  it's \"one\n  [x\nb: >-\n  'y\n", "{a:'it's \"one\n[x\n',b:''y'}"},
      {"a: >2\n    \"x\nb: 1\n", "{a:'  \"x\n',b:1}"},
      {"a:\n  - |\n    \"\n  - b\n", "{a:['\"\n',b]}"},
      {"a: x\n  'y\n", "{a:x 'y}"},
      {"a: b[1\n", "{a:b[1}"},
      {"---\na: 1\n...\n", "{a:1}"},
      {"%YAML 1.2\n---\na: 1\n", "{a:1}"},
      {"\xEF\xBB\xBF"
       "a: 1\r\nb: 2\r\n",
       "{a:1,b:2}"},
      {"a: \xF0\x9F\x98\x80\n", "{a:\xF0\x9F\x98\x80}"},
      {"a:\t1\t# tab\n\t\n\t# tab\n", "{a:1}"},
      {"{a: , b: ~, c: null, d}\n", "{a:null,b:null,c:null,d:null}"},
      {"null: 1\n'~': 2\n", "{null:1,'~':2}"},
      {"a: off\nb: 010\nc: -3\n", "{a:off,b:010,c:-3}"},
      {"'<<': 1\n", "{'<<':1}"},
      {"- - a\n  - [b, [c]]\n", "[[a,[b,[c]]]]"},
  };
  for (const auto& [text, expected] : kGood) {
    CAPTURE(text);
    CHECK(flat(good(text)) == expected);
  }
}

TEST_CASE("yaml: a value written as flow text reads back to the same") {
  for (const char* text : {"~", "null", "{}", "[]", "{a: 3_000k, b: -0.5e+3, c: true, d: off, e: '3', f: 'true x'}",
                           "{a: [1, [x, {}], {b: }], 'c d': \"\\n'\\\"\", '': ''}", "a: x, y] {z 1\nb: '#'\nc: '~'\n",
                           "index: { null: {} }"}) {
    CAPTURE(text);
    const YamlNode node = good(text);
    const std::string flow = to_yaml(node);
    CAPTURE(flow);
    const YamlNode again = good(flow);
    CHECK(to_yaml(again) == flow);
    const auto without_quotes = [](std::string tree) { return std::erase(tree, '\''), tree; };
    CHECK(without_quotes(flat(again)) == without_quotes(flat(node)));
  }
  // A number stays a number, and text in quotes does not become one.
  CHECK(to_yaml(good("{ a: 3_000k, b: '3', c: true, d: -1, e: 0.5, f: 'a b', g: , h: [x, 1] }")) ==
        "{ a: 3_000k, b: \"3\", c: true, d: -1, e: 0.5, f: \"a b\", g: ~, h: [x, 1] }");
}

TEST_CASE("yaml: every value knows its place, in characters") {
  const YamlNode document = good("\xC3\xA4: { \xC3\xB6: 'x', y: 2 }\nlist:\n  - 1\nempty:\nlast: ~\n");
  CHECK(document.mark.text() == "t:1:1");
  const YamlNode& flow = document.entries[0].second;
  CHECK(flow.mark.text() == "t:1:4");
  CHECK(flow.entries[0].second.mark.text() == "t:1:9");
  CHECK(flow.entries[1].first.mark.text() == "t:1:14");
  CHECK(document.find("list")->items[0].mark.text() == "t:3:5");
  CHECK(document.find("empty")->mark.text() == "t:4:1");  // a missing value has the place of its key
  CHECK(document.find("last")->mark.text() == "t:5:7");
  CHECK(document.find("list")->find("x") == nullptr);
  CHECK(parse_yaml("# nothing\n", "t")->mark.text() == "t:1:1");
}

TEST_CASE("yaml: bombs are refused before they cost anything") {
  std::string deep_block, wide = "a: 1\n";
  for (std::size_t i = 0; i < 1000; ++i) deep_block += std::string(i, ' ') + "a:\n";
  for (int i = 0; i < 40'000; ++i) wide += fmt::format("k{}: 1\n", i);
  std::string laughs = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) laughs += fmt::format("{0}: &{0} [*{1}, *{1}]\n", c, static_cast<char>(c - 1));
  const std::pair<std::string, const char*> bombs[] = {
      {std::string(std::size_t{64} << 20, 'x'), "bytes; expected at most 1 MiB"},
      {std::string(1'000'000, '['), "longer than 32 KiB"},
      {repeated("{a: ", 250'000), "longer than 32 KiB"},
      {repeated("- ", 500'000), "more than 32 levels"},
      {repeated("? ", 500'000), "cannot be a key"},
      {deep_block, "more than 32 levels"},
      {std::string(33, '[') + std::string(33, ']'), "more than 32 levels"},
      {"[" + repeated("a,", 500'000) + "]", "longer than 32 KiB"},
      {"[" + repeated("a,", 10'001) + "]", "more than 10000 values"},
      {repeated("- [" + repeated("a,", 100) + "]\n", 4'000), "more than 10000 values"},
      {wide, "more than 10000 values"},
      {laughs, "anchors"},
      {"a: &a [x]\nb: [" + repeated("*a,", 300'000) + "]", "anchors"},
      {repeated("&a ", 300'000), "longer than 32 KiB"},
      {std::string(1'000'000, '!'), "tag handle with no suffix"},
      {std::string(1'000'000, 'x'), "longer than 32 KiB"},
      {"a: \"" + std::string(1'000'000, 'x'), "longer than 32 KiB"},
      {"a: '" + std::string(1'000'000, '\''), "longer than 32 KiB"},
      {std::string(1'000'000, '\n'), "longer than 32 KiB"},
      {std::string(1'000'000, '#'), "longer than 32 KiB"},
      {std::string(1'000'000, ' '), "longer than 32 KiB"},
      {repeated("{\"a\",\n", 150'000), "longer than 32 KiB"},
      {repeated("{a", 500'000), "longer than 32 KiB"},
      {repeated("a\n", 500'000), "longer than 32 KiB"},
      {"a: |\n" + repeated("  x\n", 200'000), "longer than 32 KiB"},
      {std::string(1'000'000, '\0'), "NUL byte"},
  };
  std::string largest;
  for (int i = 0; i < 4'999; ++i) largest += fmt::format("k{}: 1\n", i);
  const double allowed = milliseconds([&] { REQUIRE(parse_yaml(largest, "t")); });
  for (const auto& [text, part] : bombs) {
    CAPTURE(text.substr(0, 40));
    std::string error;
    const double spent = milliseconds([&, &bomb = text] {
      const auto document = parse_yaml(bomb, "t");
      REQUIRE(!document);
      error = document.error().text;
    });
    CAPTURE(error);
    CHECK(error.starts_with("t:"));
    CHECK(error.find(part) != std::string::npos);
    CHECK(error.size() < 300);
    // On any machine and in any build. Twice was measured; the widest, read to its end, has eight times the keys.
    CHECK(spent <= 6 * allowed);
  }
}

TEST_CASE("yaml: the limits themselves are allowed") {
  CHECK(parse_yaml(std::string(32, '[') + std::string(32, ']'), "t"));
  CHECK(parse_yaml("[" + repeated("a,", 9'999) + "]", "t"));
  CHECK(parse_yaml("a: " + std::string(30'000, 'x') + "\n", "t"));
  CHECK(parse_yaml(std::string(30'000, '#') + "\na: 1\n", "t"));
}

TEST_CASE("yaml: a text that is no UTF-8 is written as it is, in quotes") {
  CHECK(to_yaml(std::string_view("a\xff z")) == "\"a\xff z\"");
  CHECK(to_yaml(std::string_view("\xc3")) == "\"\xc3\"");
}

TEST_CASE("yaml: files that are none are refused at once") {
  const Folder folder;
  const auto why = [&](const std::string& path) {
    const auto document = parse_yaml_file(path);
    REQUIRE(!document);
    CHECK(document.error().text.starts_with(path + ": "));
    return document.error().text.substr(path.size() + 2);
  };
  CHECK(why(folder.at("missing.yaml")) == "there is no such file");
  CHECK(why(folder.path().string()) == "is a folder; expected a YAML file");
  CHECK(why("/dev/zero") == "is a pipe, socket or device; expected a regular file");
  const std::string pipe = folder.at("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(why(pipe) == "is a pipe, socket or device; expected a regular file");
  CHECK(why(folder.file("large", std::string((1U << 20) + 1, '#'))) == "is larger than 1 MiB (1048577 bytes)");
  CHECK(why(folder.file("file", "a: 1") + "/below").starts_with("cannot be read: "));
  CHECK(why("/proc/self/mem").starts_with("cannot be read: "));  // regular, of no size, and unreadable
  CHECK(why(std::string(5000, 'a')).starts_with("cannot be read: "));
  if (::geteuid() != 0) {
    const std::string secret = folder.file("secret", "a: 1");
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    CHECK(why(secret).starts_with("cannot be read: "));
  }
  const auto largest =
      parse_yaml_file(folder.file("largest", repeated("- x\n#" + std::string(1018, '#') + "\n", 1024)));  // 1 MiB
  REQUIRE(largest);
  CHECK(largest->items.size() == 1024);
  const std::string wrong = folder.file("wrong", "a: 'x\n");
  CHECK(parse_yaml_file(wrong).error().text.starts_with(wrong + ":1:4: "));
  const std::string fine = folder.file("fine", "a: 1\n");
  REQUIRE(parse_yaml_file(fine));
  CHECK(parse_yaml_file(fine)->entries[0].second.mark.text() == fine + ":1:4");
  std::filesystem::create_symlink(fine, folder.path() / "link");
  CHECK(parse_yaml_file(folder.at("link")));
}

TEST_CASE("yaml: a text written as a scalar reads back, and fits into a message") {
  std::vector<std::string> texts = {"",      "x",   "null", "~",    "a b",
                                    "a: b",  "#x",  "'",    "\"",   "\\n",
                                    "\n\t",  "-",   "- x",  "[x]",  "\xC3\xA4\xF0\x9F\x98\x80",
                                    "010",   "a-b", "<<",   "\x1B", "\x7F",
                                    "\r\nx", " x ", "NULL", "true"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    const YamlNode document = good(fmt::format("{{ {0}: {0} }}", to_yaml(text)));
    CHECK(document.entries[0].first.scalar == text);
    CHECK(document.entries[0].second.kind == YamlNode::Kind::scalar);
    CHECK(document.entries[0].second.scalar == text);
  }
  CHECK(in_quotes("a\n\x1B\xFF\xC3\xA4") == "'a\\x0a\\x1b\\xff\xC3\xA4'");
  CHECK(in_quotes(std::string(1000, 'x')) == "'" + std::string(48, 'x') + "...'");
}
