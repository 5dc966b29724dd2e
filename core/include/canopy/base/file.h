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
  /// Closes the descriptor it owns, and takes ownership of `number`. Keeps errno.
  void reset(int number = -1);

 private:
  int number_ = -1;
};

/// Opens /dev/null for each of standard input, output and error that is closed, so that no other file of the process
/// gets its number and receives what is printed. Writing there is still an error. Call it first in main().
void hold_standard_descriptors();

/// Result of open_regular().
struct OpenedFile {
  UniqueFd descriptor;    ///< owns nothing unless the path leads to a readable regular file
  int error = 0;          ///< errno of the call that failed; 0: `facts` are known
  struct ::stat facts{};  ///< facts about the file, or about what the path leads to instead
};

/// Opens a regular file for reading. Never waits for a pipe's writer, never opens a device that existed before the
/// call, and never makes a terminal this process's own. `flags` are added to those of ::open, for example O_NOFOLLOW.
OpenedFile open_regular(const std::string& path, int flags = 0);

/// Returns "a folder", "a pipe", "a socket" or "a device". REQUIRES: the mode is not a regular file's.
const char* kind_of(mode_t mode);

}  // namespace canopy
