#include "folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace canopy::slots {

namespace {

namespace fs = std::filesystem;

/// Creates the folder and its missing parents.
void make_folder(const std::string& path) {
  const fs::path above = fs::path(path).parent_path();
  if (std::error_code unknown; !above.empty() && !fs::exists(above, unknown)) make_folder(above.string());
  if (::mkdir(path.c_str(), 0700) == 0) return;
  const int error = errno;
  struct ::stat facts{};
  if (error != EEXIST || ::stat(path.c_str(), &facts) != 0) fail(path, "the folder cannot be created", error);
  if (!S_ISDIR(facts.st_mode)) fail(path, "is not a folder", 0);
}

std::string holder(int lock) {
  char text[32] = {};
  const ssize_t count = ::pread(lock, text, sizeof text - 1, 0);
  std::string number(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  number.erase(std::find_if_not(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }),
               number.end());
  // A process that reserves a folder to read it writes no number, so the number may belong to a process that has ended.
  const long id = number.empty() ? 0 : std::strtol(number.c_str(), nullptr, 10);
  if (id <= 0 || (::kill(static_cast<pid_t>(id), 0) != 0 && errno == ESRCH)) return "another process";
  return "process " + number;
}

}  // namespace

void fail(const std::string& path, const std::string& what, int error) {
  throw std::runtime_error(path + ": " + what +
                           (error ? " (" + std::generic_category().message(error) + ")" : std::string()));
}

std::string folder_name(const PageStorage::Context& context) {
  std::string name;
  for (const std::byte byte : context.fingerprint)
    for (const unsigned digit : {static_cast<unsigned>(byte) >> 4, static_cast<unsigned>(byte) & 15})
      name += "0123456789abcdef"[digit];
  return name + "-rank-" + std::to_string(context.rank) + "-of-" + std::to_string(context.ranks);
}

Folder::Folder(const std::string& path, const PageStorage::Context& context)
    : path_((fs::path(path) / folder_name(context)).string()) {
  make_folder(path_);
  lock_ = OwnFd([&] { return open_file(file("lock"), O_RDWR | O_CREAT); });
  // A process that lists the folder holds the lock for a moment.
  int tries = 20;
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EINTR || (error == EWOULDBLOCK && --tries > 0)) {
      ::usleep(10'000);
      continue;
    }
    if (error == EWOULDBLOCK) fail(path_, holder(lock_.get()) + " uses this folder; only one process may use it", 0);
    fail(path_, "cannot be locked", error);
  }
  const std::string id = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock_.get(), 0) != 0 || ::pwrite(lock_.get(), id.data(), id.size(), 0) < 0)
    fail(file("lock"), "cannot be written", errno);
}

UniqueFd open_file(const std::string& path, int flags, bool may_lack) {
  UniqueFd opened(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  if (!opened) {
    if (may_lack && errno == ENOENT) return opened;
    fail(path, "cannot be opened", errno);
  }
  struct ::stat facts{};
  if (::fstat(opened.get(), &facts) != 0) fail(path, "cannot be examined", errno);
  if (!S_ISREG(facts.st_mode)) fail(path, std::string("is ") + kind_of(facts.st_mode) + ", not a file", 0);
  // O_NONBLOCK is for what is no file: some kernels would end each transfer of io_uring with EAGAIN.
  if (::fcntl(opened.get(), F_SETFL, ::fcntl(opened.get(), F_GETFL) & ~O_NONBLOCK) != 0)
    fail(path, "cannot be opened", errno);
  return opened;
}

Reserved reserve(const std::string& folder) {
  UniqueFd lock = open_file(folder + "/lock", O_RDONLY, true);
  if (lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0) return {{}, holder(lock.get())};
  return {std::move(lock), {}};
}

std::vector<std::string> folders_below(const std::string& path) {
  std::vector<std::string> found;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(path, problem))
    if (std::error_code unknown; entry.is_directory(unknown) && entry.path().filename().string().find("-rank-") == 64)
      found.push_back(entry.path().string());
  if (problem) fail(path, "cannot be read", problem.value());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace canopy::slots
