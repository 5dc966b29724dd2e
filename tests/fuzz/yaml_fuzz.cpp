/// Hostile YAML through the parser, the option walker and --set. With -fsanitize=fuzzer it is a libFuzzer target;
/// with CANOPY_FUZZ_MAIN defined it is a program that mutates its own seeds: `yaml_fuzz [RUNS [SEED]]`.
#include <canopy/config/yaml_options.h>
#include <canopy/support/random.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace canopy;

void expect(bool fact, const char* what, std::string_view about) {
  if (fact) return;
  std::fprintf(stderr, "yaml_fuzz: not so: %s\n%.*s\n", what, static_cast<int>(about.size()), about.data());
  std::abort();
}

#define EXPECT(fact, about) expect(fact, #fact, about)

enum class Mode { fast, careful };
constexpr const char* kModes[] = {"fast", "careful"};

class Rows final : public Entries {
 public:
  std::size_t size() const override { return rows_.size(); }
  const char* key(std::size_t i) const override { return rows_[i].first.c_str(); }
  const char* add(const char* key) override {
    if (rows_.size() == 4) return "there is room for four";
    rows_.emplace_back(key, 1U);
    return nullptr;
  }
  void visit(std::size_t i, Options& o) override { o.number("bytes", rows_[i].second, 1, 4096, "bytes a row"); }

 private:
  std::vector<std::pair<std::string, std::uint32_t>> rows_;
};

struct Config {
  std::uint64_t size = 2;
  double share = 0.5;
  bool on = true;
  Mode mode = Mode::fast;
  Rows rows;
  void visit(Options& o) {
    o.number("size", size, 1, 64, "how large");
    o.real("share", share, 0, 1, "part of it");
    o.flag("on", on, "whether it runs");
    o.choice("mode", mode, kModes, "how it runs");
    o.entries("rows", rows, "rows by name");
  }
};

bool has_place(const std::string& error) {
  unsigned line = 0, column = 0;
  return std::sscanf(error.c_str(), "t:%u:%u: ", &line, &column) == 2 && line > 0 && column > 0;
}

std::size_t check_tree(const YamlNode& node, std::size_t depth) {
  EXPECT(depth <= 32, "depth");
  EXPECT(node.mark.line > 0 && node.mark.column > 0, node.scalar);
  std::size_t values = 1;
  for (const YamlNode& item : node.items) values += check_tree(item, depth + 1);
  for (const auto& [key, value] : node.entries) {
    EXPECT(key.kind == YamlNode::Kind::scalar && node.find(key.scalar) == &value, key.scalar);
    EXPECT(key.mark.line > 0, key.scalar);
    values += check_tree(value, depth + 1);
  }
  return values;
}

/// What was read without complaint dumps to a text that reads to the same dump.
void check_options(const YamlNode& document) {
  Config config;
  Complaints complaints;
  YamlOptions walker(document, "c", complaints);
  config.visit(walker);
  walker.finish();
  EXPECT(walker.ok() == complaints.empty(), "ok()");
  for (const std::string& complaint : complaints) EXPECT(has_place(complaint), complaint);
  EXPECT(config.size >= 1 && config.size <= 64 && config.share >= 0 && config.share <= 1, "ranges");
  const auto dump_of = [](Config& one) { return dump_options([&](Options& o) { one.visit(o); }); };
  const std::string dump = dump_of(config);
  const auto again = parse_yaml(dump, "t");
  EXPECT(static_cast<bool>(again), dump);
  Config other;
  Complaints none;
  YamlOptions second(*again, "c", none);
  other.visit(second);
  second.finish();
  EXPECT(none.empty(), dump);
  EXPECT(dump_of(other) == dump, dump);
}

void check_assignment(std::string_view text) {
  auto document = parse_yaml("{ size: 3, rows: { a: slru, b: [1, 2] } }", "t");
  const std::string_view assignment = text.substr(0, text.find('\n'));
  if (const auto set = set_value(*document, assignment); !set)
    EXPECT(set.error().text.starts_with("--set "), set.error().text);
  Config config;
  Complaints complaints;
  YamlOptions walker(*document, "c", complaints);
  config.visit(walker);
  walker.finish();
}

void check(std::string_view text) {
  check_assignment(text);
  const auto document = parse_yaml(text, "t");
  if (!document) return EXPECT(has_place(document.error().text), document.error().text);
  EXPECT(check_tree(*document, 0) <= 10'000, "values");
  check_options(*document);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifdef CANOPY_FUZZ_MAIN

namespace {

const char* const kSeeds[] = {
    "size: 3\nshare: 0.25\non: false\nmode: careful\nrows: { k: 8, 'v x': { bytes: 16 } }\n",
    "# it's\nrows:\n  \"a\\n\": 1_0\n  b: |\n    text \"one\n  c: >-\n    'two\nsize: 1Ki\n",
    "{ a: [1, {b: ~}], 'it''s': \"x\\\"y\", c: !!str &x *x, <<: 1 }\n",
    "rows.a.bytes=3\n---\n- - x\n  - ? y\n    : z\n...\n",
    "\xEF\xBB\xBF%YAML 1.2\n---\nsize: 010\r\nshare: 1e-3\r\n\xC3\xA4: \xF0\x9F\x98\x80\n",
};

std::string mutated(Random& random) {
  constexpr std::string_view kPieces[] = {"\"",    "'",     "\n", "\t",  ": ",   "- ",       "{",    "}",   "[",  "]",
                                          ",",     "#",     " #", "|\n", ">\n",  "&a ",      "*a",   "!x ", "? ", "<<",
                                          "---\n", "...\n", "\\", "~",   "\r\n", "\xC3\xA4", "\xFF", "0",   "=",  "."};
  std::string text = kSeeds[random.remainder(std::size(kSeeds))];
  for (std::size_t i = 0, count = 1 + random.remainder(8); i < count; ++i) {
    const std::size_t at = random.remainder(text.size() + 1);
    switch (random.remainder(6)) {
      case 0:
        text.insert(at, kPieces[random.remainder(std::size(kPieces))]);
        break;
      case 1:
        text.erase(at, 1 + random.remainder(8));
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        text.insert(at, text.substr(random.remainder(text.size() + 1), random.remainder(40)));
        break;
      case 4:
        text.insert(at, std::string(random.remainder(50), "[{ -\"'\n"[random.remainder(7)]));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random.next());
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  for (const char* seed : kSeeds) check(seed);
  for (std::uint64_t i = 0; i < runs; ++i) check(mutated(random));
  std::printf("yaml_fuzz: %llu texts, no crash\n", static_cast<unsigned long long>(runs));
}

#endif
