#include <canopy/base/atomic_file.h>
#include <canopy/base/random.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace canopy {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, int reason) {
  return Error{path + ": could not be written: " + std::strerror(reason)};
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Creates a file beside `target` and sets `draft` to its name. The umask reduces `mode`.
UniqueFd open_draft(const std::string& target, mode_t mode, std::string& draft) {
  Random random(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
                static_cast<std::uint64_t>(getpid()) << 32);
  for (int tries = 0; tries < 100; ++tries) {
    draft = fmt::format("{}.{:08x}", target, static_cast<std::uint32_t>(random.next()));
    UniqueFd opened(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (opened || errno != EEXIST) return opened;
  }
  return {};
}

}  // namespace

Result<std::string> output_target(const std::string& path) {
  if (path.empty()) return Error{"the name of an output file is empty"};
  constexpr int kMostLinks = 40;  // limit of the kernel
  fs::path at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat facts{};
    if (::lstat(at.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return at.string();
    if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
      return Error{path + ": " + (links ? "leads to " + at.string() + ", which" : "it") +
                   " is another user's link; such a link is not followed"};
    std::error_code error;
    const fs::path next = fs::read_symlink(at, error);
    if (error) return cannot_write(path, error.value());
    at = next.is_absolute() ? next : folder_of(at) / next;
  }
  return cannot_write(path, ELOOP);
}

Result<std::monostate> can_write_file(const std::string& path) {
  const auto target = output_target(path);
  if (!target) return target.error();
  struct stat facts{};
  if (::stat(target->c_str(), &facts) == 0) {
    if (!S_ISREG(facts.st_mode)) return Error{path + ": is " + kind_of(facts.st_mode) + "; expected a regular file"};
    if (::access(target->c_str(), W_OK) != 0) return cannot_write(path, errno);
  }
  if (::access(folder_of(*target).c_str(), W_OK | X_OK) != 0) return cannot_write(path, errno);
  return std::monostate{};
}

AtomicFile::AtomicFile(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      draft_(std::exchange(other.draft_, {})),
      opened_(std::move(other.opened_)) {}

AtomicFile::~AtomicFile() {
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

Result<AtomicFile> AtomicFile::begin(const std::string& path) {
  if (auto can = can_write_file(path); !can) return can.error();
  const auto target = output_target(path);
  if (!target) return target.error();
  AtomicFile file(path, *target);
  struct stat old{};
  const bool replaces = ::stat(target->c_str(), &old) == 0;
  file.opened_ = open_draft(*target, replaces ? old.st_mode & 0777 : 0666, file.draft_);
  if (!file.opened_) {
    file.draft_.clear();
    return cannot_write(path, errno);
  }
  return file;
}

Result<std::monostate> AtomicFile::append(std::string_view text) {
  if (write_all(opened_.get(), text)) return std::monostate{};
  return cannot_write(path_, errno);
}

Result<std::monostate> AtomicFile::commit() {
  struct stat old{};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  // The owner first, since a change of the owner may clear bits of the mode. Only root may change the owner.
  if (replaces && ::fchown(opened_.get(), old.st_uid, old.st_gid) != 0) errno = 0;
  const bool whole = (!replaces || ::fchmod(opened_.get(), old.st_mode & 0777) == 0) && ::fsync(opened_.get()) == 0;
  if (!whole || std::rename(draft_.c_str(), target_.c_str()) != 0) return cannot_write(path_, errno);
  draft_.clear();
  return std::monostate{};
}

Result<std::monostate> write_file_atomically(const std::string& path, std::string_view text) {
  auto file = AtomicFile::begin(path);
  if (!file) return file.error();
  if (auto written = file->append(text); !written) return written.error();
  return file->commit();
}

}  // namespace canopy
