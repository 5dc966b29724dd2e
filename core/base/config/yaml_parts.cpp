/// Options that have options: sections, variants and components; and messages about missing and removed options.
#include <canopy/base/printable.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "option_words.h"

namespace canopy {
namespace {

using Kind = YamlNode::Kind;

bool is_word(const YamlNode& node, std::string_view word) { return node.kind == Kind::scalar && node.scalar == word; }

/// Returns the entry of a map that names a component: the only one, or the one that --set put beside that of the file.
/// Null: the map is empty, or the file has two.
const YamlNode::Entry* chosen_of(const YamlNode& map) {
  if (map.entries.empty()) return nullptr;
  const YamlNode::Entry* chosen = &map.entries.front();
  for (const YamlNode::Entry& entry : map.entries)
    if (entry.first.mark.line == 0) chosen = &entry;
  return map.entries.size() > 1 && chosen->first.mark.line != 0 ? nullptr : chosen;
}

}  // namespace

void YamlOptions::on_section(const char* name, bool, const char* help, const Part& part) {
  const YamlNode* given = take(name);
  if (given == nullptr || given->kind == Kind::null || is_word(*given, "none")) return;
  if (given->kind == Kind::map) inside(*given, called(name), part);
  else
    complain(given->mark, fmt::format("{} = {} is not a map; expected {{ name: ... }}{}", called(name), shown(*given),
                                      in_brackets(help ? help : "")));
  done();
}

void YamlOptions::on_variant(const char* name, std::uint32_t& index, std::span<const char* const> names, bool,
                             const char* help, const Part& part) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  const YamlNode::Entry* const chosen = chosen_of(*given);
  const YamlNode& word = chosen ? chosen->first : *given;
  if (word.kind != Kind::scalar) {
    complain(given->mark, fmt::format("{} is expected to be one of {}: a name, or {{ name: {{ options }} }}",
                                      called(name), fmt::join(names, ", ")));
  } else if (choose(word, name, index, names, help)) {
    YamlNode none;
    none.mark = word.mark;
    inside(chosen ? chosen->second : none, called(name) + "." + names[index], part);
  }
  done();
}

void YamlOptions::on_component(const char* name, Component& value, const char*, const char* otherwise) {
  const YamlNode* given = take(name);
  const std::string by_default = value.name();
  const YamlNode::Entry* const chosen = given ? chosen_of(*given) : nullptr;
  const bool is_none =
      otherwise && given &&
      (is_word(*given, "none") || (chosen && given->entries.size() == 1 && is_word(chosen->first, "none") &&
                                   chosen->second.entries.empty() && chosen->second.kind != Kind::scalar));
  if (is_none) {
    value.set("none", "", given->mark.text().c_str());
  } else if (given) {
    read_component(*given, called(name), value);
  } else if (!by_default.empty() && by_default != "none") {
    value.set(by_default.c_str(), "", node_.mark.text().c_str());
    if (!components_->options_of(value.interface(), by_default))
      complain(node_.mark, components_->unknown(value.interface(), by_default,
                                                fmt::format(", the default of {} without '{}'", owner_, name)));
  }
  done();
}

void YamlOptions::read_component(const YamlNode& given, const std::string& name, Component& value) {
  const auto expected = [&] {
    return fmt::format("; expected {}: a name, or {{ name: {{ options }} }}", components_->kind_of(value.interface()));
  };
  const YamlNode *word = &given, *options = nullptr;
  const bool written_null = given.kind == Kind::null && !given.scalar.empty() && given.scalar != "~";
  if (given.kind == Kind::map && !given.entries.empty()) {
    const YamlNode::Entry* chosen = chosen_of(given);
    if (chosen == nullptr)
      return complain(given.entries[1].first.mark,
                      fmt::format("{} names both {} and {}{}", name, in_quotes(given.entries[0].first.scalar),
                                  in_quotes(given.entries[1].first.scalar), expected()));
    word = &chosen->first;
    options = &chosen->second;
  } else if (given.kind != Kind::scalar && !written_null) {  // in `index: null`, null is the name of a component
    return complain(given.mark, name + (given.kind == Kind::sequence ? " is a list" : " is empty") + expected());
  }
  const Walk walk = components_->options_of(value.interface(), word->scalar);
  if (walk && options) inside(*options, word->scalar, walk);
  value.set(word->scalar.c_str(), walk && options ? to_yaml(*options).c_str() : "", word->mark.text().c_str());
  if (!walk) complain(word->mark, components_->unknown(value.interface(), word->scalar, {}));
}

void YamlOptions::on_required(const char* name, const char* expected) {
  if (!node_.find(name)) complain(node_.mark, fmt::format("{} has no '{}'; expected {}", owner_, name, expected));
  complained_of(0);
}

void YamlOptions::on_rule(const char* flaw) {
  if (*flaw == '\0' || !ok()) return;  // a mistake in a value may be the cause of the conflict
  const std::string name(flaw, std::strspn(flaw, "abcdefghijklmnopqrstuvwxyz_"));
  const YamlNode* given = take(name.c_str());
  complain(given ? given->mark : node_.mark, called(flaw));
  done();
}

}  // namespace canopy
