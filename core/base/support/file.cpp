#include <canopy/base/file.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace canopy {

void UniqueFd::reset(int number) {
  const int error = errno;
  if (number_ >= 0) ::close(number_);
  number_ = number;
  errno = error;
}

int allocate(int file, std::uint64_t bytes) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error;
  do error = ::fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  while (error == EINTR);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

bool sync_entry(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && (::fsync(opened.get()) == 0 || errno == EINVAL);
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
