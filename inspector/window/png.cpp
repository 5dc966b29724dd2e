#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <png.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "canvas.h"

namespace canopy::inspector {
namespace {

/// Returns true if a picture may be written here: there is no file, or it is empty or a PNG picture.
bool may_replace(const std::string& path) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  const auto target = output_target(path);
  const OpenedFile there = open_regular(target ? *target : path);
  if (!there.descriptor || there.facts.st_size == 0) return true;
  char begins[kSignature.size()];
  return ::pread(there.descriptor.get(), begins, sizeof(begins), 0) == ssize_t{sizeof(begins)} &&
         std::memcmp(begins, kSignature.data(), sizeof(begins)) == 0;
}

}  // namespace

std::string write_png(const std::string& path, const std::vector<unsigned char>& rgb, int width, int height) {
  if (auto can = can_write_file(path); !can) return can.error().text;
  if (!may_replace(path))
    return path + ": this is not a PNG picture, so it is not replaced; remove it, or name another file";
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width), image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0)
    return path + ": " + image.message;
  bytes.resize(size);
  const auto written = write_file_atomically(path, bytes);
  return written ? "" : written.error().text;
}

}  // namespace canopy::inspector
