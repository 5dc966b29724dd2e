// Each number below size() either belongs to one tuple in `ids_` or is in `forgotten_`, never both. `taken_` has the
// name of each namespace but the shared one, so no two namespaces have the same name.

#include "spaces.h"

#include <fmt/format.h>

#include <initializer_list>

namespace canopy {
namespace {

void append_field(std::string& key, std::string_view field) {
  // Length first, so that ("ab", "c") and ("a", "bc") differ.
  key += std::to_string(field.size());
  key += ':';
  key += field;
}

std::string key_of(const Space& space) {
  std::string key;
  append_field(key, space.tenant);
  append_field(key, space.adapter);
  append_field(key, space.salt);
  return key;
}

bool is_shared(const Space& space) { return space.tenant.empty() && space.adapter.empty() && space.salt.empty(); }

/// Returns a part of a text in which "/" ends parts. A part without one is unchanged, unless it looks escaped.
std::string part_of(std::string_view text) {
  if (text.find('/') == text.npos && text.find("%2F") == text.npos && text.find("%25") == text.npos)
    return std::string(text);
  std::string part;
  for (const char c : text) {
    if (c == '/') part += "%2F";
    else if (c == '%') part += "%25";
    else part += c;
  }
  return part;
}

/// Returns a salt at a place of the text where one of `others` could begin as well.
std::string salt_at(std::string_view salt, std::initializer_list<std::string_view> others) {
  constexpr std::string_view kMark = "salt:";
  std::string_view rest = salt;
  while (rest.starts_with(kMark)) rest.remove_prefix(kMark.size());
  for (const std::string_view other : others)
    if (rest.starts_with(other)) return std::string(kMark) + std::string(salt);
  return std::string(salt);
}

/// Returns the text of Spaces::salt_of().
std::string text_of(const Space& space) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "/") + part; };
  if (!space.tenant.empty()) add("tenant:" + part_of(space.tenant));
  if (!space.adapter.empty()) add("adapter:" + part_of(space.adapter));
  if (space.salt.empty()) return text;
  if (!space.adapter.empty()) add(std::string(space.salt));
  else if (!space.tenant.empty()) add(salt_at(space.salt, {"adapter:"}));
  else add(salt_at(space.salt, {"tenant:", "adapter:"}));
  return text;
}

}  // namespace

Spaces::Spaces() {
  ids_.emplace(std::string(), NamespaceId::shared);
  names_.emplace_back();
  tuples_.emplace_back();
}

const std::string& Spaces::name_of(NamespaceId space) const {
  static const std::string kUnknown = "(unknown)";
  return knows(space) ? names_[static_cast<std::size_t>(space)] : kUnknown;
}

Space Spaces::tuple_of(NamespaceId space) const {
  const Tuple& tuple = tuples_[static_cast<std::size_t>(space)];
  return {tuple.tenant, tuple.adapter, tuple.own_salt};
}

std::optional<NamespaceId> Spaces::find(const Space& space) const {
  if (is_shared(space)) return NamespaceId::shared;
  const auto found = ids_.find(key_of(space));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void Spaces::forget_others(const std::vector<bool>& used) noexcept {
  std::erase_if(ids_, [&](const auto& tuple) {
    const auto number = static_cast<std::size_t>(tuple.second);
    if (number == 0 || used[number]) return false;
    taken_.erase(names_[number]);
    names_[number] = {};
    tuples_[number] = {};
    forgotten_.push_back(tuple.second);
    return true;
  });
}

NamespaceId Spaces::intern(const Space& space) {
  if (is_shared(space)) return NamespaceId::shared;
  std::string key = key_of(space);
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  const bool again = !forgotten_.empty();
  const auto number = again ? forgotten_.back() : static_cast<NamespaceId>(names_.size());
  Tuple tuple{text_of(space), std::string(space.adapter), std::string(space.tenant), std::string(space.salt)};
  std::string name = fmt::format("{}{}{}{}", space.tenant, space.adapter.empty() ? "" : "/", space.adapter,
                                 space.salt.empty() ? "" : fmt::format("/*{}", static_cast<std::uint32_t>(number)));
  const std::string plain = name;
  for (auto mark = static_cast<std::uint64_t>(number); taken_.contains(name); ++mark)
    name = fmt::format("{} ({})", plain, mark);
  // If memory runs out at any step, there is no such namespace yet; a tuple may then be left over for the next one.
  if (!again) {
    if (names_.size() == names_.capacity()) names_.reserve(2 * names_.size());
    forgotten_.reserve(names_.capacity());
    if (tuples_.size() == names_.size()) tuples_.emplace_back();
  }
  const auto name_at = taken_.insert(name).first;
  try {
    ids_.emplace(std::move(key), number);
  } catch (...) {
    taken_.erase(name_at);
    throw;
  }
  if (again) forgotten_.pop_back();
  else names_.emplace_back();
  tuples_[static_cast<std::size_t>(number)] = std::move(tuple);
  names_[static_cast<std::size_t>(number)] = std::move(name);
  return number;
}

}  // namespace canopy
