#include "world_config.h"

#include <program/line_words.h>

#include <algorithm>

namespace canopy::test {

namespace {

/// "full,window:4:16:slru": names, then perhaps reach (`path`), capacity and policy.
std::vector<GroupSettings> groups_from(std::string_view text) {
  std::vector<GroupSettings> groups;
  for (const std::string_view one : split(text, ",")) {
    const auto parts = split(one, ":");
    if (parts.empty() || parts.size() > 4) disagree("'{}' is not a group: name[:reach[:capacity[:policy]]]", one);
    GroupSettings& group = groups.emplace_back();
    group.name = parts[0];
    if (parts.size() > 1 && parts[1] != "path") group.reach = number<Units>(parts[1]);
    if (parts.size() > 2) group.capacity = number<std::uint32_t>(parts[2]);
    if (parts.size() > 3) group.policy = parts[3];
  }
  if (groups.empty() || groups.size() > kMaxGroups) disagree("'{}': expected 1 to {} groups", text, kMaxGroups);
  return groups;
}

}  // namespace

std::string text_of(const WorldConfig& config) {
  std::string text = fmt::format(
      "engine index={} options={} policy={} policy_options={} allocator={} page_size={} overlap={} capacity={} "
      "namespaces={}",
      config.index, config.options, config.policy, config.policy_options, config.allocator, config.page_size,
      config.overlap, config.capacity, config.namespaces);
  for (const GroupSettings& group : config.groups)
    text +=
        fmt::format("{}{}:{}:{}{}", &group == &config.groups.front() ? " groups=" : ",", group.name,
                    group.reach == kWholePath ? "path" : std::to_string(group.reach),
                    group.capacity ? group.capacity : config.capacity, group.policy.empty() ? "" : ":" + group.policy);
  return text;
}

std::optional<std::size_t> group_in(const WorldConfig& config, const std::string& name) {
  if (name.empty() || (config.groups.empty() && name == "full")) return 0;
  for (std::size_t g = 0; g < config.groups.size(); ++g)
    if (config.groups[g].name == name) return g;
  if (std::ranges::find(config.other_groups, name) == config.other_groups.end())
    disagree("'{}' is not a group of this engine", name);
  return {};
}

std::vector<std::uint32_t> words_in(const WorldConfig& config, const std::vector<std::uint32_t>& words) {
  if (!config.words_are_pages) return words;
  std::vector<std::uint32_t> all;
  for (const std::uint32_t word : words)
    for (Units i = 0; i < config.page_size; ++i) all.push_back(word * config.page_size + i);
  return all;
}

WorldConfig config_of(std::string_view line) {
  const auto parts = split(line);
  if (parts.empty() || (parts.front() != "engine" && parts.front() != "requests"))
    disagree("the first line must be 'engine ...' or 'requests ...'");
  WorldConfig config;
  config.requests = parts.front() == "requests";
  config.scenario = true;
  config.walk_every = 1;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto [key, value] = setting(parts[i]);
    if (key == "index") config.index = value;
    else if (key == "options") config.options = value;
    else if (key == "policy") config.policy = value;
    else if (key == "policy_options") config.policy_options = value;
    else if (key == "allocator") config.allocator = value;
    else if (key == "page_size") config.page_size = number<Units>(value);
    else if (key == "overlap") config.overlap = number<Units>(value);
    else if (key == "capacity") config.capacity = number<std::uint32_t>(value);
    else if (key == "namespaces") config.namespaces = number<std::uint32_t>(value);
    else if (key == "groups") config.groups = groups_from(value);
    else if (parts[i] == "words=pages") config.words_are_pages = true;
    else if (parts[i] == "insert_at_finish=no") config.insert_at_finish = false;
    else disagree("'{}' is not a setting of an engine", parts[i]);
  }
  return config;
}

}  // namespace canopy::test
