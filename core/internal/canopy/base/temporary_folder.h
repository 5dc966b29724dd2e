#pragma once

#include <filesystem>
#include <string>

namespace canopy {

/// A new folder in $TMPDIR, or else in /tmp, that only this user can open. The destructor deletes it with its contents.
class TemporaryFolder {
 public:
  /// Creates a folder whose name begins with `name`. On failure, path() is empty.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace canopy
