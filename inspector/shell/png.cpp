#include <zlib.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "canvas.h"

namespace canopy::inspector {
namespace {

using Bytes = std::vector<unsigned char>;

void put_number(Bytes& to, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(static_cast<unsigned char>(number >> shift & 255));
}

void write_chunk(std::ofstream& file, const char (&name)[5], const Bytes& data) {
  Bytes chunk;
  put_number(chunk, static_cast<std::uint32_t>(data.size()));
  chunk.insert(chunk.end(), name, name + 4);
  chunk.insert(chunk.end(), data.begin(), data.end());
  put_number(chunk, static_cast<std::uint32_t>(crc32(0, chunk.data() + 4, static_cast<uInt>(chunk.size() - 4))));
  file.write(reinterpret_cast<const char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
}

}  // namespace

std::string write_png(const std::string& path, const std::vector<unsigned char>& rgb, int width, int height) {
  const std::size_t line = static_cast<std::size_t>(width) * 3;
  Bytes lines;  // as they are, each after a 0: letters on flat ground pack better than their differences
  lines.reserve((line + 1) * static_cast<std::size_t>(height));
  for (std::size_t at = 0; at < rgb.size(); at += line) {
    lines.push_back(0);
    lines.insert(lines.end(), rgb.begin() + static_cast<std::ptrdiff_t>(at),
                 rgb.begin() + static_cast<std::ptrdiff_t>(at + line));
  }
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  Bytes packed(size);
  if (compress2(packed.data(), &size, lines.data(), static_cast<uLong>(lines.size()), 9) != Z_OK)
    return "it could not be packed";
  packed.resize(size);

  Bytes head;
  put_number(head, static_cast<std::uint32_t>(width));
  put_number(head, static_cast<std::uint32_t>(height));
  head.insert(head.end(), {8, 2, 0, 0, 0});  // eight bits a channel, red green blue
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write("\x89PNG\r\n\x1a\n", 8);
  write_chunk(file, "IHDR", head);
  write_chunk(file, "IDAT", packed);
  write_chunk(file, "IEND", {});
  file.close();
  return file.good() ? std::string() : std::string(std::strerror(errno));
}

}  // namespace canopy::inspector
