#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <iterator>

namespace canopy::test {

/// Returns true if `work` returns true in a forked child, within ten seconds.
template <class Work>
bool true_in_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    try {
      ::_exit(work() ? 0 : 1);
    } catch (const std::exception&) {
      ::_exit(2);
    }
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// The open descriptors of this process.
inline auto open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

}  // namespace canopy::test
