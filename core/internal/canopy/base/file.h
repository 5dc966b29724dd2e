#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

namespace canopy {

/// Owns a file descriptor and closes it. Movable, not copyable. A negative number: it owns nothing.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int number) : number_(number) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.number_, -1));
    return *this;
  }

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  /// Closes the descriptor it owns, and takes ownership of `number`. Keeps errno.
  void reset(int number = -1);

 private:
  int number_ = -1;
};

/// Allocates disk space, or shared memory, for the first `bytes` bytes of a file. Returns 0 or an errno. Signals of the
/// thread wait until it returns, because some file systems begin again from the first byte after a signal.
int allocate(int file, std::uint64_t bytes);

/// Writes the entry of a file in its folder to the disk, so that the file is still there after a crash of the machine.
/// Returns false on failure. A file system that has nothing to sync for a folder is none.
bool sync_entry(const std::string& path);

/// Opens /dev/null, for reading only, in place of standard input, output and error where they are closed. Otherwise a
/// file that the process opens later would get the number, and with it the printed text. Writing to it is still an
/// error. Call it first in main().
void hold_standard_descriptors();

/// Result of open_regular().
struct OpenedFile {
  UniqueFd descriptor;    ///< the open file; owns nothing unless the path leads to a readable regular file
  int error = 0;          ///< errno of the call that failed; 0: none failed, and `facts` is valid
  struct ::stat facts{};  ///< status of the file, or of the directory or device to which the path leads
};

/// Opens a regular file for reading. Never waits for the writer of a pipe, never opens a device that existed before the
/// call, and never acquires a controlling terminal. `flags`: more flags for ::open, such as O_NOFOLLOW.
OpenedFile open_regular(const std::string& path, int flags = 0);

/// Returns "a folder", "a pipe", "a socket" or "a device". REQUIRES: the mode is not a regular file's.
const char* kind_of(mode_t mode);

}  // namespace canopy
