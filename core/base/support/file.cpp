#include <canopy/base/file.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace canopy {

void UniqueFd::reset(int number) {
  const int error = errno;
  if (number_ >= 0) ::close(number_);
  number_ = number;
  errno = error;
}

void hold_standard_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (::fcntl(number, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != number) ::abort();
}

OpenedFile open_regular(const std::string& path, int flags) {
  OpenedFile opened;
  const auto failed = [&] {
    opened.descriptor.reset();
    opened.error = errno;
    return std::move(opened);
  };
  // Checked before opening, because opening a device can already have an effect, and again on the opened file.
  if (::stat(path.c_str(), &opened.facts) != 0) return failed();
  if (!S_ISREG(opened.facts.st_mode)) return opened;
  opened.descriptor.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  if (!opened.descriptor || ::fstat(opened.descriptor.get(), &opened.facts) != 0) return failed();
  if (!S_ISREG(opened.facts.st_mode)) opened.descriptor.reset();
  return opened;
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace canopy
