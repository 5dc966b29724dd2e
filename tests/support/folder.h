#pragma once

#include <canopy/base/temporary_folder.h>
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>

namespace canopy::test {

/// A folder of a test's own, gone at the end.
class Folder : public TemporaryFolder {
 public:
  Folder() : TemporaryFolder("canopy-test") { REQUIRE(!path().empty()); }

  std::string at(const std::string& name) const { return (path() / name).string(); }
  /// Writes a file, and returns where it is.
  std::string file(const std::string& name, std::string_view content) const {
    std::ofstream(at(name), std::ios::binary) << content;
    return at(name);
  }
};

}  // namespace canopy::test
