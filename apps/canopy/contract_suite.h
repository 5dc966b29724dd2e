#pragma once

#include <canopy/base/result.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace canopy::app {

/// Returns how a process ended that did not finish loading a plugin: the rest of a sentence that begins with the file's
/// name. `status` is from wait(); `seconds` was the time limit of the process.
std::string how_loading_ended(int status, unsigned seconds);

/// The contract suite, tests/conformance, which is a separate program. Each case runs in a new process with a time
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

  /// Finds the suite beside this executable or where it is installed; nothing if this build has none. `seconds` is the
  /// time limit of each process.
  static std::optional<ContractSuite> find(unsigned seconds);

  /// Returns the cases for a plugin. An error is the rest of a sentence that begins with the file's name: loading it
  /// failed.
  Result<std::vector<Case>> cases(const std::string& file) const;
  Answer check(const std::string& file, const Case& which) const;

 private:
  struct Ended {
    int status = 0;       ///< status from wait()
    std::string answers;  ///< output of the process; the last line may be incomplete
  };
  ContractSuite(std::filesystem::path program, unsigned seconds) : program_(std::move(program)), seconds_(seconds) {}
  Ended run(const std::vector<std::string>& arguments) const;

  std::filesystem::path program_;
  unsigned seconds_;
};

}  // namespace canopy::app
