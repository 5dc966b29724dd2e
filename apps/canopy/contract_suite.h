#pragma once

#include <canopy/base/result.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace canopy::app {

/// How a process that loaded a plugin ended before it had done so: the rest of a sentence that begins with the file's
/// name. `status` as wait() tells it; `seconds` is what the process was given.
std::string how_loading_ended(int status, unsigned seconds);

/// The contract suite, tests/conformance, which is a program of its own. Each case runs in a new process with a time
/// limit, so a plugin that crashes, hangs or ends the process does no further harm.
class ContractSuite {
 public:
  struct Case {
    std::string interface, component, number, name;
  };
  enum class Verdict { passed, failed, crashed, late };
  struct Answer {
    Verdict verdict = Verdict::passed;
    std::string why;  ///< the rest of a sentence that begins with the component's name; empty if it passed
  };

  /// Looks beside this executable and where it is installed; nothing if this build has none. A process may take
  /// `seconds`.
  static std::optional<ContractSuite> find(unsigned seconds);

  /// The cases for a plugin. An error is the rest of a sentence that begins with the file's name: loading it failed.
  Result<std::vector<Case>> cases(const std::string& file) const;
  Answer check(const std::string& file, const Case& which) const;

 private:
  struct Ended {
    int status = 0;       ///< as wait() tells it
    std::string answers;  ///< what it wrote, whole lines or not
  };
  ContractSuite(std::filesystem::path program, unsigned seconds) : program_(std::move(program)), seconds_(seconds) {}
  Ended run(const std::vector<std::string>& arguments) const;

  std::filesystem::path program_;
  unsigned seconds_;
};

}  // namespace canopy::app
