#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace canopy::test {

/// Where third-party traces and recordings lie, which the project does not ship: $CANOPY_SHARED, or a folder
/// `shared` beside or above the current one. Empty, and said aloud, if what is wanted is not there.
inline std::filesystem::path shared_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const char* named = std::getenv("CANOPY_SHARED"); named && fs::exists(fs::path(named) / name, ignored))
    return fs::path(named) / name;
  for (fs::path at = fs::current_path();; at = at.parent_path()) {
    if (fs::exists(at / "shared" / name, ignored)) return at / "shared" / name;
    if (at == at.parent_path()) break;
  }
  MESSAGE("SKIPPED: no " << name << " in $CANOPY_SHARED nor in a folder `shared` above the current one");
  return {};
}

}  // namespace canopy::test
