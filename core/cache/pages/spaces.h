#pragma once

#include <canopy/engine/request_spec.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy {

/// Namespaces by number, dense from 0. Number 0 is the shared one, for requests without a tuple.
class Spaces {
 public:
  Spaces();
  NamespaceId intern(const Space& space);
  std::size_t size() const { return names_.size(); }
  bool knows(NamespaceId space) const { return static_cast<std::size_t>(space) < names_.size(); }
  /// Returns "tenant/adapter/salt" without empty parts, for display. A salt is secret and appears as "*" and the
  /// namespace's number. Returns "unknown" if there is no such namespace.
  const std::string& name_of(NamespaceId space) const;
  /// Returns a text that is unique to the namespace and the same in every process: the salt itself if the tuple has
  /// only a salt, otherwise "tenant:T/adapter:A/salt" without empty parts. Empty for the shared one. REQUIRES: the
  /// namespace exists.
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
  std::deque<Tuple> tuples_;
};

}  // namespace canopy
