#include <canopy/support/atomic_file.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace canopy {
namespace {

Error cannot_write(const std::string& path, int reason) {
  return Error{path + ": could not be written: " + std::strerror(reason)};
}

bool write_all(int descriptor, std::string_view text) {
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
    return Error{path + ": is something else than a regular file; nothing is written to it"};
  fs::path folder = fs::weakly_canonical(path, ignored).parent_path();
  if (folder.empty()) folder = ".";
  if (access(folder.c_str(), W_OK) != 0) return cannot_write(path, errno);
  return std::monostate{};
}

Result<std::monostate> write_file_atomically(const std::string& path, std::string_view text) {
  std::error_code ignored;
  const std::string target = std::filesystem::weakly_canonical(path, ignored).string();
  std::string draft = (ignored ? path : target) + ".XXXXXX";
  const int descriptor = mkstemp(draft.data());
  if (descriptor < 0) return cannot_write(path, errno);
  const bool written = write_all(descriptor, text) && fchmod(descriptor, 0644) == 0 && fsync(descriptor) == 0;
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

}  // namespace canopy
