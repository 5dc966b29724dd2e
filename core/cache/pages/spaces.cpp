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
  const auto [found, is_new] = ids_.emplace(std::move(key), static_cast<NamespaceId>(ids_.size()));
  if (is_new) {
    std::string salt;
    if (!space.tenant.empty()) salt += fmt::format("tenant:{}/", space.tenant);
    if (!space.adapter.empty()) salt += fmt::format("adapter:{}/", space.adapter);
    salt += space.salt;
    if (salt.ends_with('/') && space.salt.empty()) salt.pop_back();
    tuples_.push_back(
        {std::move(salt), std::string(space.adapter), std::string(space.tenant), std::string(space.salt)});
    names_.push_back(fmt::format("{}{}{}{}", space.tenant, space.adapter.empty() ? "" : "/", space.adapter,
                                 space.salt.empty() ? "" : fmt::format("/*{}", names_.size())));
  }
  return found->second;
}

}  // namespace canopy
