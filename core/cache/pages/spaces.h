#pragma once

#include <canopy/engine/request_spec.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace canopy {

/// Namespaces by number, dense from 0. Number 0 is the shared one, for requests without a tuple.
class Spaces {
 public:
  Spaces();
  NamespaceId intern(const Space& space);
  /// Returns the number of a tuple; nothing if it has none.
  std::optional<NamespaceId> find(const Space& space) const;
  /// Forgets all namespaces but the shared one and those that are true in `used`, by number: other tuples get their
  /// numbers later. REQUIRES: used.size() is size(); nothing has a number of the others any longer.
  void forget_others(const std::vector<bool>& used) noexcept;
  /// Returns the end of the numbers, including those that are forgotten.
  std::size_t size() const { return names_.size(); }
  /// Returns the number of namespaces.
  std::size_t count() const { return ids_.size(); }
  bool knows(NamespaceId space) const { return static_cast<std::size_t>(space) < names_.size(); }
  /// Returns "tenant/adapter/salt" without empty parts, for display (shown_name()); empty only for the shared one. A
  /// salt is secret and appears as "*" and the namespace's number. No two namespaces have one name: if another one has
  /// it already, " (N)" follows, where N is the namespace's number or a larger one. Returns "(unknown)" if there is no
  /// such namespace.
  const std::string& name_of(NamespaceId space) const;
  /// Returns a text that is unique to the namespace and the same in every process: the salt itself if the tuple has
  /// only a salt, otherwise "tenant:T/adapter:A/salt" without empty parts. Where that could be the text of another
  /// tuple, parts are escaped: "/" and "%" in T and A become "%2F" and "%25", and "salt:" precedes a salt that begins
  /// like one of the other parts. Empty for the shared one. REQUIRES: the namespace exists.
  std::string_view salt_of(NamespaceId space) const { return tuples_[static_cast<std::size_t>(space)].salt; }
  std::string_view adapter_of(NamespaceId space) const { return tuples_[static_cast<std::size_t>(space)].adapter; }
  /// Returns the interned tuple. Valid for the lifetime of this object. REQUIRES: the namespace exists.
  Space tuple_of(NamespaceId space) const;

 private:
  std::unordered_map<std::string, NamespaceId> ids_;
  struct Tuple {
    std::string salt, adapter;  ///< salt: result of salt_of()
    std::string tenant, own_salt;
  };
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;  ///< the names
  std::deque<Tuple> tuples_;
  std::vector<NamespaceId> forgotten_;  ///< has room for all numbers
};

}  // namespace canopy
