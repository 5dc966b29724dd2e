#pragma once

#include <memory>
#include <string>

#include "driver_abi.h"

namespace canopy::cuda {

/// The CUDA driver of this machine, found at run time. Opening it starts nothing: no device is touched before init().
/// The functions are the driver's own, with its meaning, parameters and thread safety; those of the optional list may
/// be nullptr. Symbols that are exported with a version (cuMemAlloc_v2) have the plain name here.
class Driver {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";

  /// nullptr, and one sentence in `why`, if there is no such library, or it lacks a function that is required.
  /// The library stays in the process for ever: the driver has threads of its own, and contexts that outlive Canopy's.
  static std::shared_ptr<const Driver> open(const char* library, std::string& why);

#define CANOPY_X(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  CANOPY_CUDA_REQUIRED(CANOPY_X)
  CANOPY_CUDA_OPTIONAL(CANOPY_X)
#undef CANOPY_X

  /// What went wrong, in the driver's words: "cuMemCreate: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  std::string sentence(const char* call, Result result) const;

 private:
  Driver() = default;
};

/// After this result the context is lost: every later call returns the same, and the device's memory cannot be trusted.
bool sticky(Result result);

/// There is no GPU here, or no driver for it: the store declines on such a machine; it is not a failure.
bool absent(Result result);

/// Makes a context current in this thread for the length of a scope.
class ContextScope {
 public:
  ContextScope(const Driver& driver, ContextHandle context)
      : driver_(driver), result_(driver.ctx_push_current(context)) {}
  ~ContextScope() {
    ContextHandle ours = nullptr;
    if (result_ == Result::success) static_cast<void>(driver_.ctx_pop_current(&ours));
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  /// Other than success: the context is not current, and the calls in the scope will fail too.
  Result result() const { return result_; }

 private:
  const Driver& driver_;
  Result result_;
};

}  // namespace canopy::cuda
