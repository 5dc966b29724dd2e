#pragma once

#include <canopy/types.h>

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
  /// "tenant/adapter/salt" without what is empty, for people; a salt shows as "*". "unknown" if no such namespace was
  /// interned.
  const std::string& name_of(NamespaceId space) const;

 private:
  std::unordered_map<std::string, NamespaceId> ids_;
  std::vector<std::string> names_;
};

}  // namespace canopy
