#pragma once

#include <filesystem>
#include <string>

namespace canopy {

/// A new folder in $TMPDIR, or else in /tmp, for this user alone. It goes with its object, and so does all that is in
/// it.
class TemporaryFolder {
 public:
  /// `name`: what the folder's name begins with. Where the system makes no folder, path() is empty.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace canopy
