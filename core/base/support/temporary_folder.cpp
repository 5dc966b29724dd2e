#include "canopy/base/temporary_folder.h"

#include <stdlib.h>

#include <system_error>

namespace canopy {

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code none;
  const std::filesystem::path in = std::filesystem::temp_directory_path(none);
  std::string folder = (in / (name + "-XXXXXX")).string();
  if (!none && ::mkdtemp(folder.data())) path_ = folder;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace canopy
