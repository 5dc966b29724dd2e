#include "font_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace canopy::inspector {
namespace {

std::string path_of_font() {
  if (const char* named = std::getenv("CANOPY_FONT")) return named;
  for (const char* path : {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf",
                           "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf"})
    if (std::error_code failed; std::filesystem::is_regular_file(path, failed)) return path;
  return {};
}

std::vector<char> read_font() {
  const std::string path = path_of_font();
  std::error_code failed;
  if (path.empty() || !std::filesystem::is_regular_file(path, failed)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::span<const char> font_file() {
  static const std::vector<char> bytes = read_font();
  return bytes;
}

}  // namespace canopy::inspector
