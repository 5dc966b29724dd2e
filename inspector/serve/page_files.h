#pragma once

#include <span>
#include <string_view>

namespace canopy::inspector {

/// A file of the inspector's page, in the program itself.
struct PageFile {
  std::string_view path;  ///< begins with '/'; "/" is the page
  std::string_view type;  ///< value of Content-Type
  std::span<const unsigned char> bytes;
  bool gzip = false;  ///< true if the bytes are compressed with gzip
};

/// Returns the files of the page. Only builds with the page have this function.
std::span<const PageFile> page_files();

}  // namespace canopy::inspector
