#include "build.h"

#include "lab/commit.h"

namespace canopy::lab {

std::string version() { return CANOPY_VERSION; }

std::optional<std::string> commit() {
  const std::string known = kCommit;
  if (known.empty()) return {};
  return known;
}

}  // namespace canopy::lab
