#include "operation.h"

#include "mismatch.h"

#include <array>
#include <charconv>

namespace canopy::test {

namespace {

constexpr std::array<std::string_view, 12> kVerbs{"match", "insert", "release", "evict", "flush",  "clear",
                                                  "peek",  "hold",   "drop",    "remap", "policy", "state"};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end;
  }
  return parts;
}

template <class T>
T number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) disagree("'{}' is not a number", text);
  return value;
}

/// "key=value" or a bare word with an empty key.
std::pair<std::string_view, std::string_view> setting(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return {{}, part};
  return {part.substr(0, equals), part.substr(equals + 1)};
}

bool takes_name(Verb verb) { return verb == Verb::release || verb == Verb::drop; }
bool takes_count(Verb verb) { return verb == Verb::evict || verb == Verb::hold || verb == Verb::remap; }
bool takes_words(Verb verb) { return verb == Verb::match || verb == Verb::insert || verb == Verb::peek; }

}  // namespace

std::string text_of(const Operation& operation) {
  std::string text(kVerbs[static_cast<std::size_t>(operation.verb)]);
  if (!operation.as.empty()) text += " as=" + operation.as;
  if (!operation.name.empty()) text += takes_name(operation.verb) ? " " + operation.name : " below=" + operation.name;
  if (operation.space != NamespaceId::shared)
    text += fmt::format(" in={}", static_cast<std::uint32_t>(operation.space));
  if (operation.priority != 0) text += fmt::format(" priority={}", operation.priority);
  if (operation.chunked) text += " chunked";
  if (operation.finished) text += " finished";
  if (takes_count(operation.verb)) text += fmt::format(" {}", operation.count);
  for (const std::uint32_t word : operation.words) text += fmt::format(" {}", word);
  return text;
}

std::string text_of(const WorldConfig& config) {
  return fmt::format(
      "engine index={} options={} policy={} allocator={} page_size={} overlap={} capacity={} namespaces={}",
      config.index, config.options, config.policy, config.allocator, config.page_size, config.overlap, config.capacity,
      config.namespaces);
}

Operation operation_from(std::string_view line) {
  const auto parts = split(line);
  Operation operation;
  std::size_t verb = 0;
  while (verb < kVerbs.size() && (parts.empty() || kVerbs[verb] != parts.front())) ++verb;
  if (verb == kVerbs.size()) disagree("'{}' is no operation", parts.empty() ? "" : parts.front());
  operation.verb = static_cast<Verb>(verb);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto [key, value] = setting(parts[i]);
    if (key == "as") operation.as = value;
    else if (key == "below") operation.name = value;
    else if (key == "in") operation.space = static_cast<NamespaceId>(number<std::uint32_t>(value));
    else if (key == "priority") operation.priority = number<std::int32_t>(value);
    else if (!key.empty()) disagree("'{}' is no setting of an operation", key);
    else if (value == "chunked") operation.chunked = true;
    else if (value == "finished") operation.finished = true;
    else if (takes_name(operation.verb) && operation.name.empty()) operation.name = value;
    else if (takes_count(operation.verb)) operation.count = number<std::uint32_t>(value);
    else if (takes_words(operation.verb)) operation.words.push_back(number<std::uint32_t>(value));
    else disagree("'{}' is too much", value);
  }
  return operation;
}

WorldConfig config_from(std::string_view line) {
  const auto parts = split(line);
  if (parts.empty() || parts.front() != "engine") disagree("the first line must be 'engine ...'");
  WorldConfig config;
  config.walk_every = 1;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto [key, value] = setting(parts[i]);
    if (key == "index") config.index = value;
    else if (key == "options") config.options = value;
    else if (key == "policy") config.policy = value;
    else if (key == "allocator") config.allocator = value;
    else if (key == "page_size") config.page_size = number<Units>(value);
    else if (key == "overlap") config.overlap = number<Units>(value);
    else if (key == "capacity") config.capacity = number<std::uint32_t>(value);
    else if (key == "namespaces") config.namespaces = number<std::uint32_t>(value);
    else disagree("'{}' is no setting of an engine", parts[i]);
  }
  return config;
}

}  // namespace canopy::test
