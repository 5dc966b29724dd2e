#include "note_files.h"

#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace canopy::inspector {
namespace {

std::string file_of(const std::string& recording) { return recording + ".notes"; }

Result<std::string> read_notes(const std::string& recording) {
  const std::string path = file_of(recording);
  const OpenedFile file = open_regular(path);
  if (file.error == ENOENT) return std::string();
  if (file.error != 0) return Error{path + ": " + std::strerror(file.error)};
  if (!file.descriptor)
    return Error{path + ": expected a regular file, found " + std::string(kind_of(file.facts.st_mode))};
  if (static_cast<std::size_t>(file.facts.st_size) > Notes::kMost * (Notes::kMostBytes + 32))
    return Error{path + ": it is too large for notes"};
  std::string text(static_cast<std::size_t>(file.facts.st_size), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::read(file.descriptor.get(), text.data() + at, text.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{path + ": " + std::strerror(errno)};
    if (got == 0) text.resize(at);
    at += static_cast<std::size_t>(got);
  }
  return text;
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
