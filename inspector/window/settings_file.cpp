#include "settings_file.h"

#include <canopy/base/atomic_file.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace canopy::inspector {

std::string settings_path() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config == '/')
    return std::string(config) + "/canopy/inspector.ini";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.config/canopy/inspector.ini";
  return {};
}

Settings load_settings(const std::string& path) {
  std::ifstream file(path);
  return Settings::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool save_settings(const std::string& path, const Settings& settings) {
  if (path.empty()) return false;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  return static_cast<bool>(write_file_atomically(path, settings.text()));
}

}  // namespace canopy::inspector
