/// The system calls by which slots takes room on a disk and keeps flushes: this program has some in place of the C
/// library's.
#include <slots/flushed_spaces.h>
#include <slots/slot_files.h>
#include <slots/table_file.h>
#include <support/folder.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace {

std::vector<std::string> g_synced;  ///< paths of what fsync() wrote to the disk
bool g_folders_fail = false;        ///< fsync() of a folder fails
int g_interrupts = 0;               ///< calls of fallocate() that signals may still interrupt

}  // namespace

extern "C" int fsync(int file) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  if (::readlink(link.c_str(), path.data(), path.size() - 1) > 0) g_synced.emplace_back(path.data());
  if (g_folders_fail && std::filesystem::is_directory(path.data())) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

/// As a file system that begins again after each signal, under a timer that is faster.
extern "C" int fallocate(int file, int mode, off_t offset, off_t bytes) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  if (g_interrupts > 0 && ::sigismember(&blocked, SIGPROF) == 0) {
    errno = --g_interrupts > 0 ? EINTR : EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, file, mode, offset, bytes));
}

using namespace canopy;

TEST_CASE("slots: signals that come faster than a file system takes room keep no storage from its start") {
  const test::Folder folder;
  g_interrupts = 1'000;
  const slots::SlotFiles files(folder.path().string(), {4096, 64}, false);
  const slots::TableFile table(folder.at("table"), files.shape(), {.record_bytes = 4096});
  CHECK(g_interrupts == 1'000);
  g_interrupts = 0;
  CHECK(files.shape().slots == 64);
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  CHECK(::sigismember(&blocked, SIGPROF) == 0);
}

TEST_CASE("slots: a flush is on the disk with its file's entry in the folder") {
  const test::Folder folder;
  const std::string path = std::filesystem::canonical(folder.path()).string(), file = path + "/flushed";
  slots::FlushedSpaces flushed(file);
  g_synced.clear();
  CHECK(flushed.add(1, 1));
  CHECK(g_synced == std::vector<std::string>{file, path});
  CHECK(flushed.add(2, 1));
  CHECK(g_synced == std::vector<std::string>{file, path, file});
  // The next process does not know whether the one that made the file got as far as that.
  slots::FlushedSpaces next(file);
  g_synced.clear();
  g_folders_fail = true;
  CHECK_FALSE(next.add(3, 1));
  g_folders_fail = false;
  CHECK(next.add(4, 1));
  CHECK(g_synced == std::vector<std::string>{file, path, file, path});
}
