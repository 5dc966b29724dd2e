#include <canopy/base/yaml_document.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "yaml_builder.h"
#include "yaml_text.h"

namespace canopy {
namespace {

/// Sets the mark of every value of an assignment. Returns the depth of its lists and maps.
std::size_t mark_all(YamlNode& node, const Mark& mark) {
  std::size_t depth = 0;
  node.mark = mark;
  for (YamlNode& item : node.items) depth = std::max(depth, mark_all(item, mark));
  for (auto& [key, value] : node.entries) {
    key.mark = mark;
    depth = std::max(depth, mark_all(value, mark));
  }
  return depth + (node.kind == YamlNode::Kind::sequence || node.kind == YamlNode::Kind::map);
}

/// Returns the value to which `step` leads, and creates it if it is missing. Null: it cannot exist, and `why` is set.
YamlNode* descend(YamlNode& node, std::string_view step, const Mark& mark, std::string& why) {
  if (node.kind == YamlNode::Kind::sequence) {
    std::size_t index = 0;
    const auto [end, failed] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (failed == std::errc{} && end == step.data() + step.size() && index < node.items.size())
      return &node.items[index];
    why = fmt::format("{} is not a place in the list of {} at {}; the first is 0", in_quotes(step), node.items.size(),
                      node.mark.text());
    return nullptr;
  }
  if (node.kind == YamlNode::Kind::scalar && !is_name(node.scalar)) {
    why = fmt::format("there is no {} in {}, the value at {}; set the whole value", in_quotes(step),
                      in_quotes(node.scalar), node.mark.text());
    return nullptr;
  }
  if (node.kind != YamlNode::Kind::map) {
    node = YamlNode{};
    node.kind = YamlNode::Kind::map;
    node.mark = mark;
  }
  if (YamlNode* found = node.find(step)) return found;
  YamlNode key;
  key.kind = YamlNode::Kind::scalar;
  key.scalar = step;
  key.mark = mark;
  YamlNode nothing;
  nothing.mark = mark;
  node.entries.emplace_back(std::move(key), std::move(nothing));
  return &node.entries.back().second;
}

}  // namespace

Result<std::monostate> set_value(YamlNode& document, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view path = assignment.substr(0, equals);
  const Mark mark{fmt::format("--set {}", path.size() <= 200 ? path : path.substr(0, 200)), 0, 0};
  const auto cannot = [&](const std::string& why) { return Error{fmt::format("{}: {}", mark.text(), why)}; };
  if (equals == std::string_view::npos) return cannot("expected path=value, such as groups.full.eviction=lfu");

  std::vector<std::string_view> steps;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (end == begin) return cannot("a step of the path is empty; expected names with dots between them");
    steps.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string_view step : steps)
    for (std::size_t at = 0; at < step.size(); at += utf8_length(step.substr(at)))
      if (static_cast<unsigned char>(step[at]) < 0x20 || step[at] == 0x7F || utf8_length(step.substr(at)) == 0)
        return Error{
            fmt::format("--set {}: a name has a control character or a byte that is not UTF-8", in_quotes(path))};
  auto value = parse_yaml(assignment.substr(equals + 1), mark.source);
  if (!value) return value.error();
  if (value->kind == YamlNode::Kind::null && value->scalar.empty()) return cannot("expected a value after the '='");
  if (mark_all(*value, mark) + steps.size() > kMaxDepth)
    return cannot(fmt::format("more than {} levels of lists and maps", kMaxDepth));

  YamlNode* node = &document;
  for (const std::string_view step : steps) {
    std::string why;
    node = descend(*node, step, mark, why);
    if (node == nullptr) return cannot(why);
  }
  *node = *std::move(value);
  return std::monostate{};
}

}  // namespace canopy
