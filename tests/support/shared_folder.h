#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace canopy::test {

/// Returns the path of a third-party trace or recording, which the project does not ship, in $CANOPY_SHARED or in a
/// folder `shared` beside or above the current one. Empty, with a message, if the file is not there.
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
