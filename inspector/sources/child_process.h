#pragma once

#include <canopy/support/file.h>
#include <canopy/support/result.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::inspector {

/// Another program that this process started, and what it writes to standard error. It is started without a shell, its
/// arguments reach it as they are; its standard input and output are /dev/null. The kernel ends it when this process
/// ends, however that happens.
class ChildProcess {
 public:
  /// `command`: the program's path and its arguments. The error names the program and says why it cannot be started.
  /// REQUIRES: `command` is not empty.
  static Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& command);
  /// Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;

  /// The whole lines that came since the last call, without line ends; its last line counts as whole when it has
  /// ended. Never waits. At most kMostLine bytes of a line are kept.
  std::vector<std::string> lines();
  static constexpr std::size_t kMostLine = 4096;
  /// Its exit code, or 128 and the number of the signal that ended it; none while it runs. Never waits. When it is
  /// there, the next lines() has all that is left.
  std::optional<int> exit_code();

 private:
  ChildProcess(pid_t process, UniqueFd errors) : process_(process), errors_(std::move(errors)) {}

  pid_t process_;
  UniqueFd errors_;   ///< reading end of its standard error; does not wait
  std::string line_;  ///< the one that is not whole yet
  std::optional<int> exit_code_;
};

/// Where a program is: beside this one, else the first in $PATH that can be run. Empty: nowhere.
std::string find_program(const std::string& name);

}  // namespace canopy::inspector
