#include "compose/component_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace canopy {
namespace {

using Kind = YamlNode::Kind;

/// What a component is for: what it must implement, and what people call that.
struct Role {
  const char* interface;
  const char* in_words;
  const char* article;
};

constexpr Role kRoles[] = {{KeyCodec::kInterface, "key codec", "a"},
                           {PrefixIndex::kInterface, "prefix index", "a"},
                           {SlotAllocator::kInterface, "slot allocator", "a"},
                           {EvictionStrategy::kInterface, "eviction strategy", "an"},
                           {KVStore::kInterface, "KV store", "a"}};

const Role& role_of(std::string_view interface) {
  return *std::find_if(std::begin(kRoles), std::end(kRoles),
                       [&](const Role& role) { return role.interface == interface; });
}

}  // namespace

void ComponentReader::read(std::string_view interface, const std::string& called, const YamlNode& value,
                           ComponentConfig& component) {
  if (split(interface, called, value, component)) check(interface, component, "");
}

void ComponentReader::check(std::string_view interface, const ComponentConfig& component, const char* why_this) {
  if (const Offer* offer = registry_.find(interface, component.name)) {
    YamlOptions walker(component.options, component.name, complaints_);
    offer->component->options(walker);
    walker.finish();
    return;
  }
  complain(component.mark, registry_.unknown(interface, component.name, why_this));
}

bool ComponentReader::split(std::string_view interface, const std::string& called, const YamlNode& value,
                            ComponentConfig& component) {
  component.mark = component.options.mark = value.mark;
  const bool written_null = value.kind == Kind::null && !value.scalar.empty() && value.scalar != "~";
  if (value.kind == Kind::scalar || written_null) {  // in `index: null`, null is the name of a component
    component.name = value.scalar;
    return true;
  }
  const Role& role = role_of(interface);
  const auto expected =
      fmt::format("; expected {} {}: a name, or {{ name: {{ options }} }}", role.article, role.in_words);
  if (value.kind != Kind::map || value.entries.empty()) {
    complain(value.mark, called + (value.kind == Kind::sequence ? " is a list" : " is empty") + expected);
    return false;
  }
  const YamlNode::Entry* chosen = &value.entries.front();
  // What --set puts beside the component of the file takes its place.
  for (const YamlNode::Entry& entry : value.entries)
    if (entry.first.mark.line == 0) chosen = &entry;
  if (value.entries.size() > 1 && chosen->first.mark.line != 0) {
    complain(value.entries[1].first.mark,
             fmt::format("{} names {} beside {}{}", called, in_quotes(value.entries[1].first.scalar),
                         in_quotes(chosen->first.scalar), expected));
    return false;
  }
  component.name = chosen->first.scalar;
  component.options = chosen->second;
  component.mark = chosen->first.mark;
  return true;
}

}  // namespace canopy
