#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace canopy::test {

/// Runs the contract suite over a server, in a process of its own.
inline void check_contract(const std::string& options) {
  const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string line = "CANOPY_STORAGE_OPTIONS=\"" + options + "\" timeout 200 " +
                           (bin / "canopy-contract").string() + " --test-suite=PageStorage >&2";
  CHECK(std::system(line.c_str()) == 0);
}

}  // namespace canopy::test
