#pragma once

#include <canopy/types.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy {

/// The requests that may share a prefix: those with the same tuple, and no others.
struct Space {
  std::string_view tenant, adapter, salt;
};

/// Namespaces by number, dense from 0. Number 0 is the shared one, of requests without a tuple.
class Spaces {
 public:
  Spaces();
  NamespaceId intern(const Space& space);
  std::size_t size() const { return names_.size(); }
  bool knows(NamespaceId space) const { return static_cast<std::size_t>(space) < names_.size(); }
  /// "tenant/adapter/salt" without what is empty, for people; a salt is a secret and shows as "*" and the namespace's
  /// number. "unknown" if no such namespace was interned.
  const std::string& name_of(NamespaceId space) const;
  /// A text that no other namespace has, and the same in every process: the salt itself where the tuple has nothing
  /// else, otherwise "tenant:T/adapter:A/salt" without what is empty. Empty for the shared one. REQUIRES: it is known.
  std::string_view salt_of(NamespaceId space) const { return tuples_[static_cast<std::size_t>(space)].salt; }
  std::string_view adapter_of(NamespaceId space) const { return tuples_[static_cast<std::size_t>(space)].adapter; }
  /// The tuple that was interned. REQUIRES: it is known. Valid as long as the namespaces are.
  Space tuple_of(NamespaceId space) const;

 private:
  std::unordered_map<std::string, NamespaceId> ids_;
  struct Tuple {
    std::string salt, adapter;  ///< salt: that of salt_of()
    std::string tenant, own_salt;
  };
  std::vector<std::string> names_;
  std::deque<Tuple> tuples_;
};

}  // namespace canopy
