/// Hostile YAML through the parser, the option walker and --set.
#include "fuzz.h"

#include <canopy/base/option_walkers.h>
#include <canopy/base/yaml_options.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace canopy;

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
    o.number("size", size, 1, 64, "size of a part");
    o.real("share", share, 0, 1, "part of it");
    o.flag("on", on, "run it");
    o.choice("mode", mode, kModes, "mode of a run");
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

/// Expects that options that were read without complaint dump to a text that reads to the same dump.
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
  if (!complaints.empty()) return;
  // The document as flow text gives the same options.
  const auto flow = parse_yaml(to_yaml(document), "t");
  EXPECT(static_cast<bool>(flow), to_yaml(document));
  Config third;
  YamlOptions walker_of_flow(*flow, "c", none);
  third.visit(walker_of_flow);
  walker_of_flow.finish();
  EXPECT(none.empty() && dump_of(third) == dump, to_yaml(document));
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
  check(fuzz::text_of(data, size));
  return 0;
}
