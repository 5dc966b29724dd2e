#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

namespace canopy {

/// Owns a file descriptor and closes it. Movable, not copyable; a negative number owns nothing.
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
  /// Closes what it owns, and owns `number` from now on. Keeps errno.
  void reset(int number = -1);

 private:
  int number_ = -1;
};

/// Opens /dev/null in place of each of standard input, output and error that is closed, so that no file of the process
/// takes the number and with it what is printed. Writing there stays an error. Call it first in main().
void hold_standard_descriptors();

/// What open_regular() found.
struct OpenedFile {
  UniqueFd descriptor;    ///< owns nothing unless the path leads to a regular file that can be read
  int error = 0;          ///< errno of the call that failed; 0: `facts` are known
  struct ::stat facts{};  ///< of the file, or of what stands there instead of a regular file
};

/// Opens a regular file for reading. Never waits for a pipe's writer, never opens a device that was there before the
/// call, and never makes a terminal this process's own. `flags` are added to those of ::open, O_NOFOLLOW for example.
OpenedFile open_regular(const std::string& path, int flags = 0);

/// "a folder", "a pipe", "a socket" or "a device". REQUIRES: the mode is not a regular file's.
const char* kind_of(mode_t mode);

}  // namespace canopy
