#include "note_files.h"

#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace canopy::inspector {
namespace {

std::string file_of(const std::string& recording) { return recording + ".notes"; }

Result<std::string> read_notes(const std::string& recording) {
  const std::string path = file_of(recording);
  const OpenedFile file = open_regular(path);
  if (file.error == ENOENT) return std::string();
  if (file.error != 0) return Error{path + ": " + std::strerror(file.error)};
  if (!file.descriptor) return Error{path + ": expected a regular file"};
  if (static_cast<std::size_t>(file.facts.st_size) > Notes::kMost * (Notes::kMostBytes + 32))
    return Error{path + ": it is too large for notes"};
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

}  // namespace

NoteStore note_files() {
  return {read_notes,
          [](const std::string& recording, const std::string& text) {
            return write_file_atomically(file_of(recording), text);
          },
          file_of};
}

}  // namespace canopy::inspector
