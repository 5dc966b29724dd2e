#include <canopy/base/option_walkers.h>
#include <canopy/base/yaml_options.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace canopy;

namespace {

enum class Mode { fast, careful, off };
constexpr const char* kModes[] = {"fast", "careful", "off"};
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

/// A map of names with options, as a store's streams are.
class Rows final : public Entries {
 public:
  struct Row {
    std::string name;
    std::uint32_t bytes = 0;
    bool packed = false;
  };
  std::size_t size() const override { return rows.size(); }
  const char* key(std::size_t i) const override { return rows[i].name.c_str(); }
  const char* add(const char* key) override {
    if (rows.size() == 2) return "there is room for two";
    rows.push_back({key, 1, false});
    return nullptr;
  }
  void visit(std::size_t i, Options& o) override {
    o.number("bytes", rows[i].bytes, 1, 4096, "bytes a row");
    o.flag("packed", rows[i].packed, "without gaps");
  }
  std::vector<Row> rows;
};

struct Config {
  std::uint64_t size = 2, total = 7;
  std::uint8_t small = 1;
  double share = 0.5;
  bool on = true;
  Mode mode = Mode::careful;
  Rows rows;
  void visit(Options& o) {
    o.number("size", size, 1, 64, "size of a part");
    o.number("total", total, 0, kHuge, "size of all");
    o.number("small", small, 0, 255, "");
    o.real("share", share, -1, 1, "part of it");
    o.flag("on", on, "run it");
    o.choice("mode", mode, kModes, "mode of a run");
    o.entries("rows", rows, "rows by name");
  }
};

struct Nothing {
  void visit(Options&) {}
};

template <class T>
std::pair<T, Complaints> read(std::string_view yaml) {
  std::pair<T, Complaints> out;
  const auto document = parse_yaml(yaml, "t");
  REQUIRE_MESSAGE(document, (document ? std::string() : document.error().text));
  YamlOptions walker(*document, "c", out.second);
  out.first.visit(walker);
  const bool fine_before = walker.ok();
  walker.finish();
  CHECK((fine_before || !walker.ok()));
  CHECK(walker.ok() == out.second.empty());
  return out;
}

}  // namespace

TEST_CASE("options: what is refused, where and why") {
  struct Bad {
    std::string_view yaml, sentence;
  };
  const Bad bad_values[] = {
      {"{ size: 0 }", "t:1:9: c.size = 0 is outside 1..64 (size of a part)"},
      {"{ size: 65 }", "t:1:9: c.size = 65 is outside 1..64 (size of a part)"},
      {"{ size: -3 }", "t:1:9: c.size = -3 is outside 1..64"},
      {"{ size: 1k }", "t:1:9: c.size = '1k' is outside 1..64"},
      {"{ size: 99999999999999999999 }", "is outside 1..64"},
      {"{ total: 99999999999999999999 }", "t:1:10: c.total = 99999999999999999999 is outside any whole number"},
      {"{ total: 18446744073709551616 }", "is outside any whole number"},
      {"{ total: 18446744073709552k }", "is outside any whole number"},
      {"{ total: 99999999999999999Gi }", "is outside any whole number"},
      {"{ total: 18446744073.9G }", "c.total = '18446744073.9G' is outside any whole number"},
      {"{ total: 18446744073709551.7k }", "is outside any whole number"},
      {"{ total: -0.5k }", "c.total = '-0.5k' is outside any whole number"},
      {"{ small: 256 }", "t:1:10: c.small = 256 is outside 0..255"},
      {"{ small: -1 }", "c.small = -1 is outside 0..255"},
      {"{ size: 010 }", "c.size = 010 is ambiguous, octal or decimal; write 10; expected 1..64"},
      {"{ size: 00 }", "is ambiguous, octal or decimal; write 0"},
      {"{ size: 0_8 }", "is ambiguous, octal or decimal; write 8"},
      {"{ size: 00k }", "is ambiguous, octal or decimal; write 0k"},
      {"{ size: 01.5k }", "is ambiguous, octal or decimal; write 1.5k"},
      {"size: 1,000", "t:1:7: c.size = '1,000' has commas; group digits with '_', as in 3_000_000"},
      {"{ size: 1m }", "has an unknown suffix; suffixes are k or K, M, G (powers of 1000) and Ki, Mi, Gi (of 1024)"},
      {"{ size: 80GiB }", "c.size = '80GiB' has an unknown suffix"},
      {"{ size: 1T }", "has an unknown suffix"},
      {"{ size: 1e3 }", "c.size = '1e3' is not a whole number in decimal digits; expected 1..64"},
      {"{ size: 0x10 }", "is not a whole number in decimal digits"},
      {"{ size: 0b1 }", "c.size = '0b1'"},
      {"{ size: 1.5 }", "c.size = 1.5 is not a whole number in decimal digits"},
      {"{ size: +1 }", "is not a whole number in decimal digits"},
      {"{ size: -x }", "is not a whole number in decimal digits"},
      {"{ size: _1 }", "is not a whole number in decimal digits"},
      {"{ size: 1_ }", "is not a whole number in decimal digits"},
      {"{ size: 1__0 }", "is not a whole number in decimal digits"},
      {"{ size: 1 0 }", "c.size = '1 0' is not a whole number"},
      {"{ size: \"3\" }", "c.size = '3' is text, because it is in quotes; expected 1..64 (size of a part)"},
      {"{ size: true }", "c.size = 'true' is not a whole number"},
      {"{ size: }", "t:1:3: c.size = nothing is not a whole number"},
      {"{ size: ~ }", "t:1:9: c.size = ~ is not a whole number"},
      {"{ size: [1] }", "c.size = a list is not a whole number"},
      {"{ size: { x: 1 } }", "c.size = a map is not a whole number"},
      {"{ share: 1.01 }", "t:1:10: c.share = 1.01 is outside -1..1 (part of it)"},
      {"{ share: 1e400 }", "c.share = 1e400 is outside -1..1"},
      {"{ share: .inf }", "c.share = '.inf' is not a number; expected -1..1"},
      {"{ share: inf }", "is not a number"},
      {"{ share: nan }", "is not a number"},
      {"{ share: NaN }", "is not a number"},
      {"share: 0,5", "t:1:8: c.share = '0,5' is not a number"},
      {"{ share: 1.0x }", "is not a number"},
      {"{ share: '0.5' }", "c.share = '0.5' is not a number"},
      {"{ share: +1 }", "is not a number"},
      {"{ share: }", "c.share = nothing is not a number"},
      {"{ on: yes }", "t:1:7: c.on = 'yes' is neither true nor false (run it)"},
      {"{ on: 1 }", "c.on = 1 is neither true nor false"},
      {"{ on: True }", "is neither true nor false"},
      {"{ on: 'true' }", "is neither true nor false"},
      {"{ on: }", "c.on = nothing is neither true nor false"},
      {"{ mode: carefull }",
       "t:1:9: c.mode = 'carefull' is not a choice (mode of a run). Did you mean 'careful'?\n  known here: fast "
       "careful "
       "off"},
      {"{ mode: 1 }", "c.mode = 1 is not a choice (mode of a run)\n  known here: fast careful off"},
      {"{ mode: ~ }", "c.mode = ~ is not a choice (mode of a run); expected fast or careful or off"},
      {"{ mode: [fast] }", "c.mode = a list is not a choice"},
      {"{ rows: 3 }", "t:1:9: c.rows = 3 is not a map; expected { name: ... } (rows by name)"},
      {"{ rows: [a] }", "c.rows = a list is not a map"},
      {"{ rows: }", "c.rows = nothing is not a map"},
      {"{ rows: { a: 0 } }", "t:1:14: c.rows.a.bytes = 0 is outside 1..4096 (bytes a row)"},
      {"{ rows: { a: { byte: 1 } } }",
       "t:1:16: c.rows.a has no option 'byte'. Did you mean 'bytes'?\n  known here: bytes packed"},
      {"{ rows: { a: [1] } }", "t:1:14: c.rows.a has a list; expected its options as a map"},
      {"{ rows: { a: 1, b: 1, d: 1 } }", "t:1:23: c.rows cannot have 'd': there is room for two"},
      {"{ sise: 3 }",
       "t:1:3: c has no option 'sise'. Did you mean 'size'?\n  known here: size total small share on mode rows"},
      {"{ completely_else: 3 }", "t:1:3: c has no option 'completely_else'\n  known here: size"},
      {"[1]", "t:1:1: c has a list; expected its options as a map, { name: value }"},
      {"65", "t:1:1: c.size = 65 is outside 1..64"},
      {"fast", "t:1:1: c.size = 'fast' is not a whole number"},
  };
  for (const Bad& bad : bad_values) {
    CAPTURE(bad.yaml);
    const Config before;
    const auto [config, complaints] = read<Config>(bad.yaml);
    REQUIRE(!complaints.empty());
    CAPTURE(complaints.front());
    CHECK(complaints.front().starts_with("t:1:"));
    CHECK(complaints.front().find(bad.sentence) != std::string::npos);
    CHECK(config.size == before.size);
    CHECK(config.total == before.total);
    CHECK(config.share == before.share);
  }
}

TEST_CASE("options: every spelling of a number") {
  const std::pair<std::string_view, std::uint64_t> kNumbers[] = {{"0", 0},
                                                                 {"7", 7},
                                                                 {"3_000_000", 3'000'000},
                                                                 {"1_0", 10},
                                                                 {"3k", 3000},
                                                                 {"3M", 3'000'000},
                                                                 {"2G", 2'000'000'000},
                                                                 {"1Ki", 1024},
                                                                 {"1_024Mi", 1ULL << 30},
                                                                 {"16Gi", 1ULL << 34},
                                                                 {"1.4M", 1'400'000},
                                                                 {"1.5Ki", 1536},
                                                                 {"18446744073709551615", kHuge},
                                                                 {"0k", 0}};
  for (const auto& [text, number] : kNumbers) {
    CAPTURE(text);
    const auto [config, complaints] = read<Config>(fmt::format("{{ total: {} }}", text));
    CHECK(complaints.empty());
    CHECK(config.total == number);
  }
  for (const auto& [text, number] :
       {std::pair<std::string_view, double>{"1", 1}, {"-0.25", -0.25}, {"1e-3", 0.001}, {"0.5", 0.5}}) {
    CAPTURE(text);
    const auto [config, complaints] = read<Config>(fmt::format("{{ share: {} }}", text));
    CHECK(complaints.empty());
    CHECK(config.share == number);
  }
}

TEST_CASE("options: a number with a unit is written with it, and dumped with it") {
  struct Quantities {
    std::uint64_t size = 0, rate = 0, wait = 0, token = 0, keep = 0;
    void visit(Options& o) {
      constexpr std::uint64_t kMost = 1'000'000'000'000;
      o.number("size", size, 0, kMost, "", Unit::bytes);
      o.number("rate", rate, 0, kMost, "so fast", Unit::bytes_per_s);
      o.number("wait", wait, 0, 3'600'000'000, "", Unit::us);
      o.number("token", token, 0, kMost, "", Unit::ns);
      o.number("keep", keep, 0, 3600, "", Unit::s);
    }
  };
  for (const auto& [text, dumped] : {std::pair{"size: 64KiB", "size: 64KiB"},
                                     {"size: 64Ki", "size: 64KiB"},
                                     {"size: 1000", "size: 1000B"},
                                     {"size: 2k", "size: 2000B"},
                                     {"rate: 12GB/s", "rate: 12GB/s"},
                                     {"rate: 1.5KiB/s", "rate: 1536B/s"},
                                     {"rate: 3B/s", "rate: 3B/s"},
                                     {"wait: 50ms", "wait: 50ms"},
                                     {"wait: '50ms'", "wait: 50ms"},
                                     {"wait: 1.5s", "wait: 1500ms"},
                                     {"wait: 3us", "wait: 3us"},
                                     {"token: 3us", "token: 3us"},
                                     {"token: 50ns", "token: 50ns"},
                                     {"keep: 60s", "keep: 60s"}}) {
    CAPTURE(text);
    auto [read_once, complaints] = read<Quantities>(text);
    CHECK(complaints.empty());
    const std::string dump = dump_options([&, config = read_once](Options& o) mutable { config.visit(o); });
    CHECK_MESSAGE(dump.find(dumped) != std::string::npos, dump);
    auto [again, none] = read<Quantities>(dump);
    CHECK(none.empty());
    CHECK(dump_options([&](Options& o) { again.visit(o); }) == dump);
  }
  const std::pair<const char*, const char*> kWrong[] = {
      {"wait: 20", "t:1:7: c.wait = 20 has no unit, as in 20us"},
      {"rate: 25G", "t:1:7: c.rate = '25G' has no unit, as in 25GB/s; expected 0..1000GB/s (so fast)"},
      {"rate: 25", "c.rate = 25 has no unit, as in 25B/s"},
      {"rate: 25Gb/s", "has an unknown unit; units are GB/s, MB/s, kB/s, B/s; expected 0..1000GB/s"},
      {"wait: 5ns", "has an unknown unit; units are s, ms, us; expected 0..3600s"},
      {"wait: 1.5us", "is not a whole number of us; expected"},
      {"wait: 2h", "has an unknown unit"},
      {"wait: 3601s", "is outside 0..3600s"},
      {"size: 1ms", "has an unknown suffix"},
      {"keep: 1.s", "is not a whole number in decimal digits"}};
  for (const auto& [text, why] : kWrong) {
    CAPTURE(text);
    const auto complaints = read<Quantities>(text).second;
    REQUIRE(complaints.size() == 1);
    CHECK_MESSAGE(complaints[0].find(why) != std::string::npos, complaints[0]);
  }
}

TEST_CASE("options: maps, scalars and nothing") {
  CHECK(read<Config>("").second.empty());
  CHECK(read<Config>("{}").first.size == 2);
  CHECK(read<Config>("64").first.size == 64);  // a scalar is the first option
  const auto [config, complaints] =
      read<Config>("{ mode: 'off', on: false, small: 255, rows: { k: 8, 'v x': { packed: true } } }");
  CHECK(complaints.empty());
  CHECK(config.mode == Mode::off);
  CHECK(!config.on);
  CHECK(config.small == 255);
  REQUIRE(config.rows.rows.size() == 2);
  CHECK(config.rows.rows[0].bytes == 8);
  CHECK(config.rows.rows[1].name == "v x");
  CHECK(config.rows.rows[1].packed);

  CHECK(read<Nothing>("").second.empty());
  CHECK(read<Nothing>("{}").second.empty());
  CHECK(read<Nothing>("3").second == Complaints{"t:1:1: c takes no options, but has 3"});
  CHECK(read<Nothing>("{ x: 3 }").second == Complaints{"t:1:3: c takes no options, but has 'x'"});
}

TEST_CASE("options: of a choice that is none only its name is complained of, not its options") {
  struct Varied {
    Mode mode = Mode::fast;
    std::uint64_t steps = 1;
    void visit(Options& o) {
      o.variant("mode", mode, kModes, true, "mode of a run", [&](Options& of) { of.number("steps", steps, 1, 9, ""); });
    }
  };
  const auto [good, none] = read<Varied>("{ mode: { careful: { steps: 3 } } }");
  CHECK(none.empty());
  CHECK(good.mode == Mode::careful);
  CHECK(good.steps == 3);
  const auto [bad, complaints] = read<Varied>("{ mode: { carefull: { step: 3 } } }");
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].starts_with("t:1:11: c.mode = 'carefull' is not a choice"));
}

TEST_CASE("options: all complaints, in the order of the file") {
  const auto [config, complaints] = read<Config>("on: 3\nx: 1\nrows: { b: { y: 1, bytes: 0 }, a: 0 }\nsize: 0\n");
  REQUIRE(complaints.size() == 6);
  const std::string_view kPlaces[] = {"t:1:5: ", "t:2:1: ", "t:3:14: ", "t:3:27: ", "t:3:35: ", "t:4:7: "};
  for (std::size_t i = 0; i < complaints.size(); ++i)
    CHECK_MESSAGE(complaints[i].starts_with(kPlaces[i]), complaints[i]);

  // Complaints of an earlier walker are left alone.
  Complaints shared{"before"};
  const auto document = parse_yaml("{ x: 1, size: 0 }", "t");
  Config other;
  YamlOptions walker(*document, "c", shared);
  other.visit(walker);
  walker.finish();
  REQUIRE(shared.size() == 3);
  CHECK(shared[0] == "before");
  CHECK(shared[1].starts_with("t:1:3: "));
}

TEST_CASE("options: what one entry has by default stays when the file names it") {
  const auto document = parse_yaml("{ k: { packed: true } }", "t");
  struct Defaults {
    Rows rows;
    void visit(Options& o) { o.entries("rows", rows, ""); }
  } config;
  config.rows.rows = {{"k", 16, false}};
  YamlNode root;
  root.kind = YamlNode::Kind::map;
  YamlNode name;
  name.kind = YamlNode::Kind::scalar;
  name.scalar = "rows";
  root.entries.emplace_back(YamlNode::Entry{name, *document});
  Complaints complaints;
  YamlOptions walker(root, "c", complaints);
  config.visit(walker);
  walker.finish();
  CHECK(complaints.empty());
  REQUIRE(config.rows.rows.size() == 1);
  CHECK(config.rows.rows[0].bytes == 16);
  CHECK(config.rows.rows[0].packed);
}

TEST_CASE("options: help") {
  Config config;
  const auto help = help_of([&](Options& o) { config.visit(o); });
  REQUIRE(help.size() == 9);
  const auto line = [&](std::size_t i) {
    return fmt::format("{} | {} | {} | {}", help[i].name, help[i].range, help[i].value, help[i].help);
  };
  CHECK(line(0) == "size | 1..64 | 2 | size of a part");
  CHECK(line(1) == "total | any whole number | 7 | size of all");
  CHECK(line(3) == "share | -1..1 | 0.5 | part of it");
  CHECK(line(4) == "on | true or false | true | run it");
  CHECK(line(5) == "mode | fast or careful or off | careful | mode of a run");
  CHECK(line(6) == "rows | a map with names of your choice | {} | rows by name");
  CHECK(line(7) == "rows.<name>.bytes | 1..4096 | 1 | bytes a row");
  CHECK(line(8) == "rows.<name>.packed | true or false | false | without gaps");
  CHECK(help_of([](Options&) {}).empty());
  // Nothing was written that could be wrong, so a component that calls ok() goes on to its other options.
  const Walk asks = [](Options& o) {
    Config other;
    if (o.ok()) other.visit(o);
  };
  CHECK(help_of(asks).size() == 9);
  CHECK(dump_options(asks) == dump_options([](Options& o) { Config().visit(o); }));
}

TEST_CASE(
    "options: a dump has each text with a longest length, also an empty one, and of the others those that are given") {
  for (const std::size_t longest : {1UL, 2UL, 4096UL}) {
    std::string short_text, free_text;
    const Walk walk = [&](Options& o) {
      o.text("short", short_text, longest, "");
      o.optional("free", free_text, "");
    };
    CHECK(dump_options(walk).starts_with("{ short: "));
    CHECK(dump_options(walk).find("free") == std::string::npos);
    free_text = "x";
    CHECK(dump_options(walk).find(", free: x }") != std::string::npos);
  }
}

TEST_CASE("options: a dump reads back to the same") {
  CHECK(dump_options([](Options&) {}) == "{}");
  const auto [config, complaints] = read<Config>(
      "{ size: 64, total: 18446744073709551615, share: 0.1, on: false, mode: 'off', rows: { 'v: #x': 4096, \"\\n\": 3 "
      "} }");
  REQUIRE(complaints.empty());
  Config copy = config;
  const std::string dump = dump_options([&](Options& o) { copy.visit(o); });
  CHECK(dump ==
        "{ size: 64, total: 18446744073709551615, small: 1, share: 0.1, on: false, mode: off, rows: { \"v: #x\": { "
        "bytes: 4096, "
        "packed: false }, \"\\x0a\": { bytes: 3, packed: false } } }");
  auto [again, none] = read<Config>(dump);
  CHECK(none.empty());
  CHECK(dump_options([&](Options& o) { again.visit(o); }) == dump);

  // The effective options of a component: its defaults with the file's values in them.
  const auto document = parse_yaml("{ mode: fast, rows: { k: 8 } }", "t");
  const auto walk = [](Options& o) { Config().visit(o); };
  CHECK(dump_options(walk, *document) ==
        "{ size: 2, total: 7, small: 1, share: 0.5, on: true, mode: fast, rows: { k: { bytes: 8, packed: false } } }");

  // A component that calls ok() finds its errors, in a dump as well.
  const auto stops = [](Options& o) {
    std::uint64_t size = 2;
    bool on = true;
    o.number("size", size, 1, 64, "size of a part");
    if (o.ok()) o.flag("on", on, "run it");
  };
  CHECK(dump_options(stops, *parse_yaml("{ size: 64 }", "t")) == "{ size: 64, on: true }");
  CHECK(dump_options(stops, *parse_yaml("{ size: 65 }", "t")) == "{ size: 2 }");
}

TEST_CASE("options: text") {
  struct Named {
    std::string path = "a b", name;
    void visit(Options& o) {
      o.text("path", path, 12, "place of the file");
      o.text("name", name, 64, "");
    }
  };
  CHECK(read<Named>("{}").first.path == "a b");
  for (const auto& [yaml, expected] : {std::pair<std::string_view, std::string_view>{"{ path: x/y.bin }", "x/y.bin"},
                                       {"{ path: 12 }", "12"},
                                       {"{ path: true }", "true"},
                                       {"{ path: '' }", ""},
                                       {"/tmp/x", "/tmp/x"},
                                       {"{ path: \"\u00e9: #\" }", "\u00e9: #"}}) {
    CAPTURE(yaml);
    auto [named, complaints] = read<Named>(yaml);
    CHECK(complaints.empty());
    CHECK(named.path == expected);
    const std::string dump = dump_options([&](Options& o) { named.visit(o); });
    CHECK(read<Named>(dump).first.path == expected);
    Named taken;
    CHECK(dump_options([&](Options& o) { taken.visit(o); }, *parse_yaml(yaml, "t")) == dump);
    CHECK(taken.path == expected);
  }
  for (const auto& [yaml, sentence] :
       {std::pair{"{ path: 1234567890123 }", "t:1:9: c.path has 13 bytes; expected at most 12 (place of the file)"},
        {"{ path: \"a\\nb\" }", "t:1:9: c.path = 'a\\x0ab' has control characters (place of the file)"},
        {"{ path: [a] }", "t:1:9: c.path = a list is not a text (place of the file)"},
        {"{ path: }", "c.path = nothing is not a text"},
        {"{ paht: x }", "c has no option 'paht'. Did you mean 'path'?"}}) {
    const auto [named, complaints] = read<Named>(yaml);
    REQUIRE(complaints.size() == 1);
    CAPTURE(complaints.front());
    CHECK(complaints.front().find(sentence) != std::string::npos);
    CHECK(named.path == "a b");
  }
  const auto help = help_of([](Options& o) { Named().visit(o); });
  CHECK(help[0].range == "text of at most 12 bytes");
  CHECK(help[0].value == "\"a b\"");
}
