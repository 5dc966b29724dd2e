#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "policy.h"

namespace nb = nanobind;

namespace canopy::python {

/// What ends long work early: a policy in Python that has thrown, a signal, or what the caller's progress function
/// raised. The work runs without the GIL.
class Ends {
 public:
  Ends() = default;
  Ends(const Ends&) = delete;

  /// A policy in Python whose failure ends the work. REQUIRES: the GIL.
  void watch(std::shared_ptr<PythonPolicy> policy) { policies_.push_back(std::move(policy)); }

  /// Whether to end, for the thread that was called from Python: looks at signals now and then.
  bool asked() {
    constexpr std::uint32_t kLook = 64;  // requests or steps between two looks
    if (++asked_ % kLook == 0) look();
    return ended_ || (policies_.size() == 1 && policies_.front()->failed());
  }
  /// The same for any other thread, which looks at nothing.
  bool ended() const { return ended_; }
  /// Looks at signals and at all policies.
  void look() {
    call([this] {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      for (const auto& policy : policies_)
        if (policy->failed()) ended_ = true;
    });
  }
  /// Runs something in Python. What it raises ends the work.
  template <class Call>
  void call(Call&& call) {
    if (raised_) return;
    const nb::gil_scoped_acquire gil;
    try {
      call();
    } catch (...) {
      raised_ = std::current_exception();
      ended_ = true;
    }
  }
  /// Raises what ended the work, if anything did. REQUIRES: the GIL, and the work is over.
  void raise() {
    if (raised_) std::rethrow_exception(raised_);
    for (const auto& policy : policies_) policy->raise_failure();
  }

 private:
  std::vector<std::shared_ptr<PythonPolicy>> policies_;
  std::exception_ptr raised_;
  std::atomic<bool> ended_ = false;
  std::uint32_t asked_ = 0;
};

}  // namespace canopy::python
