#include "spaces.h"

#include <fmt/format.h>

namespace canopy {
namespace {

void append_field(std::string& key, std::string_view field) {
  // Length first, so that ("ab", "c") and ("a", "bc") differ.
  key += std::to_string(field.size());
  key += ':';
  key += field;
}

}  // namespace

Spaces::Spaces() {
  ids_.emplace(std::string(), NamespaceId::shared);
  names_.emplace_back("shared");
  tuples_.emplace_back();
}

const std::string& Spaces::name_of(NamespaceId space) const {
  static const std::string kUnknown = "unknown";
  return knows(space) ? names_[static_cast<std::size_t>(space)] : kUnknown;
}

Space Spaces::tuple_of(NamespaceId space) const {
  const Tuple& tuple = tuples_[static_cast<std::size_t>(space)];
  return {tuple.tenant, tuple.adapter, tuple.own_salt};
}

NamespaceId Spaces::intern(const Space& space) {
  if (space.tenant.empty() && space.adapter.empty() && space.salt.empty()) return NamespaceId::shared;
  std::string key;
  append_field(key, space.tenant);
  append_field(key, space.adapter);
  append_field(key, space.salt);
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  std::string salt;
  if (!space.tenant.empty()) salt += fmt::format("tenant:{}/", space.tenant);
  if (!space.adapter.empty()) salt += fmt::format("adapter:{}/", space.adapter);
  salt += space.salt;
  if (salt.ends_with('/') && space.salt.empty()) salt.pop_back();
  Tuple tuple{std::move(salt), std::string(space.adapter), std::string(space.tenant), std::string(space.salt)};
  std::string name = fmt::format("{}{}{}{}", space.tenant, space.adapter.empty() ? "" : "/", space.adapter,
                                 space.salt.empty() ? "" : fmt::format("/*{}", names_.size()));
  // If memory runs out at any step, there is no such namespace yet; a tuple may then be left over for the next one.
  const auto number = static_cast<NamespaceId>(names_.size());
  if (names_.size() == names_.capacity()) names_.reserve(2 * names_.size());
  if (tuples_.size() == names_.size()) tuples_.emplace_back();
  tuples_.back() = std::move(tuple);
  ids_.emplace(std::move(key), number);
  names_.push_back(std::move(name));
  return number;
}

}  // namespace canopy
