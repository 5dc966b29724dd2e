#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "gil.h"
#include "policy.h"

namespace nb = nanobind;

namespace canopy::python {

/// Ends long work early if a policy in Python has thrown, a signal came, or the caller's progress function raised an
/// exception. The work runs without the GIL.
class Ends {
 public:
  Ends() = default;
  Ends(const Ends&) = delete;

  /// Adds a policy in Python whose failure ends the work. REQUIRES: the GIL.
  void watch(std::shared_ptr<PythonPolicy> policy) { policies_.push_back(std::move(policy)); }

  /// Returns true if the work must end. Checks signals now and then. REQUIRES: called on the thread that Python called.
  bool must_end() {
    constexpr std::uint32_t kLook = 64;  // requests or steps between two checks
    if (++calls_ % kLook == 0) look();
    return ended_ || (policies_.size() == 1 && policies_.front()->failed());
  }
  /// Returns true if the work must end. Checks nothing; for any other thread.
  bool ended() const { return ended_; }
  /// Checks signals and all policies.
  void look() {
    call([this] {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      for (const auto& policy : policies_)
        if (policy->failed()) ended_ = true;
    });
  }
  /// Runs `call` with the GIL. An exception from it ends the work.
  template <class Call>
  void call(Call&& call) {
    if (raised_) return;
    const WithPython gil;
    try {
      unless_python_ends(call);
    } catch (...) {
      raised_ = std::current_exception();
      ended_ = true;
    }
  }
  /// Raises the exception that ended the work, if there was one. REQUIRES: the GIL, and the work is over.
  void raise() {
    if (raised_) std::rethrow_exception(raised_);
    for (const auto& policy : policies_) policy->raise_failure();
  }

 private:
  std::vector<std::shared_ptr<PythonPolicy>> policies_;
  std::exception_ptr raised_;
  std::atomic<bool> ended_ = false;
  std::uint32_t calls_ = 0;
};

}  // namespace canopy::python
