#include "operation.h"

#include "line_words.h"

#include <algorithm>
#include <array>

namespace canopy::test {

namespace {

constexpr std::array<std::string_view, 19> kVerbs{"match", "insert", "release", "evict",  "flush", "clear", "peek",
                                                  "own",   "drop",   "remap",   "policy", "state", "tree",  "relax",
                                                  "find",  "hold",   "assign",  "keep",   "unkeep"};

bool takes_name(Verb verb) {
  return verb == Verb::release || verb == Verb::drop || verb == Verb::relax || verb == Verb::hold ||
         verb == Verb::keep || verb == Verb::unkeep;
}
bool takes_count(Verb verb) {
  return verb == Verb::evict || verb == Verb::relax || verb == Verb::own || verb == Verb::remap;
}
bool takes_words(Verb verb) {
  return verb == Verb::match || verb == Verb::insert || verb == Verb::peek || verb == Verb::find;
}

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

bool takes_group(Verb verb) { return takes_count(verb) || verb == Verb::policy; }

std::string text_of(const Operation& operation) {
  std::string text(kVerbs[static_cast<std::size_t>(operation.verb)]);
  if (!operation.as.empty()) text += " as=" + operation.as;
  if (!operation.name.empty()) text += takes_name(operation.verb) ? " " + operation.name : " below=" + operation.name;
  if (operation.space != NamespaceId::shared)
    text += fmt::format(" in={}", static_cast<std::uint32_t>(operation.space));
  if (operation.priority != 0) text += fmt::format(" priority={}", operation.priority);
  if (operation.chunked) text += " chunked";
  if (operation.finished) text += " finished";
  if (operation.of) text += fmt::format(" of={}", static_cast<std::uint32_t>(*operation.of));
  if (operation.most) text += fmt::format(" most={}", *operation.most);
  if (!operation.policy.empty()) text += " to=" + operation.policy;
  for (const auto& [group, from] : operation.from) text += fmt::format(" {}.from={}", group, from);
  if (!operation.group.empty()) text += " " + operation.group;
  if (takes_count(operation.verb)) text += fmt::format(" {}", operation.count);
  for (const std::uint32_t word : operation.words) text += fmt::format(" {}", word);
  return text;
}

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

Operation operation_from(std::string_view line) {
  const auto parts = split(line);
  Operation operation;
  std::size_t verb = 0;
  while (verb < kVerbs.size() && (parts.empty() || kVerbs[verb] != parts.front())) ++verb;
  if (verb == kVerbs.size()) disagree("'{}' is not an operation", parts.empty() ? "" : parts.front());
  operation.verb = static_cast<Verb>(verb);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto [key, value] = setting(parts[i]);
    const auto [group, what] = of_group(key);
    std::uint32_t ignored = 0;
    if (key == "as") operation.as = value;
    else if (key == "below") operation.name = value;
    else if (key == "in") operation.space = static_cast<NamespaceId>(number<std::uint32_t>(value));
    else if (key == "priority") operation.priority = number<std::int32_t>(value);
    else if (key == "of") operation.of = static_cast<TenantId>(number<std::uint32_t>(value));
    else if (key == "most") operation.most = number<std::uint32_t>(value);
    else if (key == "to" && operation.verb == Verb::policy) operation.policy = value;
    else if (what == "from" && operation.verb == Verb::insert)
      operation.from[std::string(group)] = number<std::uint32_t>(value);
    else if (!key.empty()) disagree("'{}' is not a setting of an operation", key);
    else if (value == "chunked") operation.chunked = true;
    else if (value == "finished") operation.finished = true;
    else if (takes_name(operation.verb) && operation.name.empty()) operation.name = value;
    else if (takes_group(operation.verb) && operation.group.empty() && !is_number(value, ignored))
      operation.group = value;
    else if (takes_count(operation.verb)) operation.count = number<std::uint32_t>(value);
    else if (takes_words(operation.verb)) add_numbers(value, operation.words);
    else disagree("'{}' is not expected here", value);
  }
  if (takes_name(operation.verb) && operation.name.empty()) disagree("'{}' needs a name", line);
  return operation;
}

std::vector<std::uint32_t> words_in(const WorldConfig& config, const std::vector<std::uint32_t>& words) {
  if (!config.words_are_pages) return words;
  std::vector<std::uint32_t> all;
  for (const std::uint32_t word : words)
    for (Units i = 0; i < config.page_size; ++i) all.push_back(word * config.page_size + i);
  return all;
}

WorldConfig config_from(std::string_view line) {
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
