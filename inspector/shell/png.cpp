#include <png.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "canvas.h"

namespace canopy::inspector {

std::string write_png(const std::string& path, const std::vector<unsigned char>& rgb, int width, int height) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return std::strerror(errno);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width), image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  errno = 0;
  const bool written = png_image_write_to_stdio(&image, file, 0, rgb.data(), 0, nullptr) != 0;
  std::string why = written ? "" : errno != 0 ? std::strerror(errno) : image.message;
  if (std::fclose(file) != 0 && why.empty()) why = std::strerror(errno);
  // Half a picture is removed. A device of this name stays.
  std::error_code ignored;
  if (!why.empty() && std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  return why;
}

}  // namespace canopy::inspector
