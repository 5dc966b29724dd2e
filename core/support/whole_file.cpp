#include <canopy/support/whole_file.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace canopy::replay {
namespace {

Error cannot_write(const std::string& path, int reason) {
  return Error{path + ": the report could not be written: " + std::strerror(reason)};
}

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::monostate> can_write_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status))
    return Error{path + ": a report goes to a regular file, and this is something else"};
  fs::path folder = fs::weakly_canonical(path, ignored).parent_path();
  if (folder.empty()) folder = ".";
  if (access(folder.c_str(), W_OK) != 0) return cannot_write(path, errno);
  return std::monostate{};
}

Result<std::monostate> write_whole_file(const std::string& path, std::string_view text) {
  // A reader never meets half a report: the name appears when the bytes are on disk. A link stays a link.
  std::error_code ignored;
  const std::string target = std::filesystem::weakly_canonical(path, ignored).string();
  std::string draft = (ignored ? path : target) + ".XXXXXX";
  const int descriptor = mkstemp(draft.data());
  if (descriptor < 0) return cannot_write(path, errno);
  const bool written = write_whole(descriptor, text) && fchmod(descriptor, 0644) == 0 && fsync(descriptor) == 0;
  int reason = errno;
  const bool closed = close(descriptor) == 0;
  if (written && !closed) reason = errno;
  if (written && closed) {
    if (std::rename(draft.c_str(), (ignored ? path : target).c_str()) == 0) return std::monostate{};
    reason = errno;
  }
  unlink(draft.c_str());
  return cannot_write(path, reason);
}

}  // namespace canopy::replay
