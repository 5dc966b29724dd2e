#include "compose/component_reader.h"

#include <fmt/format.h>

namespace canopy {
namespace {

using Kind = YamlNode::Kind;

/// The entry of a component's map that names it: the one, or what --set put beside the file's. Null: two in the file.
const YamlNode::Entry* chosen_of(const YamlNode& map) {
  const YamlNode::Entry* chosen = &map.entries.front();
  for (const YamlNode::Entry& entry : map.entries)
    if (entry.first.mark.line == 0) chosen = &entry;
  return map.entries.size() > 1 && chosen->first.mark.line != 0 ? nullptr : chosen;
}

}  // namespace

void read_component(std::string_view interface, const std::string& called, const YamlNode& value,
                    ComponentConfig& component, const Registry& registry, Complaints& complaints) {
  const auto complain = [&](const Mark& mark, const std::string& sentence) {
    canopy::complain(mark, sentence, complaints);
  };
  const auto expected = [&] {
    return fmt::format("; expected {}: a name, or {{ name: {{ options }} }}", Registry::with_article(interface));
  };
  const YamlNode *name = &value, *options = nullptr;
  const bool written_null = value.kind == Kind::null && !value.scalar.empty() && value.scalar != "~";
  if (value.kind == Kind::map && !value.entries.empty()) {
    const YamlNode::Entry* chosen = chosen_of(value);
    if (chosen == nullptr)
      return complain(value.entries[1].first.mark,
                      fmt::format("{} names {} beside {}{}", called, in_quotes(value.entries[1].first.scalar),
                                  in_quotes(value.entries[0].first.scalar), expected()));
    name = &chosen->first;
    options = &chosen->second;
  } else if (value.kind != Kind::scalar && !written_null) {  // in `index: null`, null is the name of a component
    return complain(value.mark, called + (value.kind == Kind::sequence ? " is a list" : " is empty") + expected());
  }
  component = {name->scalar, {}, name->mark.text()};
  const Offer* offer = registry.find(interface, component.name);
  if (offer == nullptr) return complain(name->mark, registry.unknown(interface, component.name));
  if (options == nullptr) return;
  YamlOptions walker(*options, component.name, complaints);
  offer->component->options(walker);
  walker.finish();
  component.options = to_yaml(*options);
}

}  // namespace canopy
