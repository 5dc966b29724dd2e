#pragma once

#include <canopy/support/result.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace canopy::app {

/// The contract suite, harness/conformance, as the program that it is built into. Each question is asked of a process
/// of its own with a limit of time, so a plugin that crashes, hangs or ends the process has harmed nobody else.
class ContractSuite {
 public:
  struct Case {
    std::string interface, component, number, name;
  };
  enum class Verdict { passed, failed, crashed, late };
  struct Answer {
    Verdict verdict = Verdict::passed;
    std::string why;  ///< a sentence that goes on from the component's name, unless it passed
  };

  /// Beside our executable, or where it is installed; nothing in a build that was made without it. A process may
  /// take `seconds`.
  static std::optional<ContractSuite> find(unsigned seconds);

  /// What there is to check in a plugin. An error is a sentence that fits behind its name: loading it failed.
  Result<std::vector<Case>> cases(const std::string& file) const;
  Answer check(const std::string& file, const Case& which) const;

 private:
  struct Ended {
    int status = 0;       ///< as wait() tells it
    std::string answers;  ///< what it wrote, whole lines or not
  };
  ContractSuite(std::filesystem::path program, unsigned seconds) : program_(std::move(program)), seconds_(seconds) {}
  Ended run(std::vector<std::string> arguments) const;

  std::filesystem::path program_;
  unsigned seconds_;
};

}  // namespace canopy::app
