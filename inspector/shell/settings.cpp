#include "settings.h"

#include <canopy/base/atomic_file.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace canopy::inspector {
namespace {

constexpr std::string_view kShare = "share ";  ///< prefix of keys of panels and rows; values are in hundredths
constexpr int kMostShare = 100'000;

int whole(const std::string& text, int least, int most, int otherwise) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::clamp(value, least, most) : otherwise;
}

template <class Choice, std::size_t kCount>
void choose(Choice& choice, const std::array<const char*, kCount>& names, const std::string& value) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (value == names[i]) choice = static_cast<Choice>(i);
}

}  // namespace

std::string Settings::path() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config == '/')
    return std::string(config) + "/canopy/inspector.ini";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.config/canopy/inspector.ini";
  return {};
}

Settings Settings::load(const std::string& path) {
  Settings settings;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals), value = line.substr(equals + 3);
    if (key == "theme") settings.light = value == "light";
    else if (key == "scale_percent") settings.scale = static_cast<float>(whole(value, 0, 400, 0)) / 100;
    else if (key == "width") settings.width = whole(value, 640, 16384, settings.width);
    else if (key == "height") settings.height = whole(value, 400, 16384, settings.height);
    else if (key == "colour") choose(settings.colour, kColourNames, value);
    else if (key == "tree") choose(settings.tree, kTreeViewNames, value);
    else if (key.starts_with(kShare))
      if (const int hundredths = whole(value, 0, kMostShare, 0); hundredths > 0)
        settings.shares[key.substr(kShare.size())] = static_cast<float>(hundredths) / 100;
  }
  return settings;
}

bool Settings::save(const std::string& path) const {
  if (path.empty()) return false;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  std::ostringstream lines;
  lines << "theme = " << (light ? "light" : "dark") << "\nscale_percent = " << static_cast<int>(scale * 100)
        << "\nwidth = " << width << "\nheight = " << height
        << "\ncolour = " << kColourNames[static_cast<std::size_t>(colour)]
        << "\ntree = " << kTreeViewNames[static_cast<std::size_t>(tree)] << "\n";
  for (const auto& [name, share] : shares) lines << kShare << name << " = " << static_cast<int>(share * 100) << "\n";
  return static_cast<bool>(write_file_atomically(path, lines.str()));
}

}  // namespace canopy::inspector
