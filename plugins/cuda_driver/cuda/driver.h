#pragma once

#include <memory>
#include <string>

#include "driver_abi.h"

namespace canopy::cuda {

/// The CUDA driver of this machine, loaded at run time. Opening it touches no device before init(). The functions are
/// the driver's own, with its semantics, parameters and thread safety. Functions of the optional list may be null (the
/// driver does not have them). Versioned symbols (cuMemAlloc_v2) have their plain name here.
class Driver {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";

  /// Loads the driver. Returns null and sets `why` if the library is missing or lacks a required function. The library
  /// is never unloaded: the driver has its own threads, and contexts that outlive Canopy's.
  static std::shared_ptr<const Driver> open(const char* library, std::string& why);

#define CANOPY_X(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  CANOPY_CUDA_REQUIRED(CANOPY_X)
  CANOPY_CUDA_OPTIONAL(CANOPY_X)
#undef CANOPY_X

  /// Returns an error message in the driver's words: "cuMemCreate: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  std::string sentence(const char* call, Result result) const;

 private:
  Driver() = default;
};

/// Returns true if the context is lost after this result: every later call returns the same result, and the device's
/// memory is no longer valid.
bool sticky(Result result);

/// Returns true if this machine has no GPU or no driver for it. The store is then unavailable, which is not an error.
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

  /// Returns the result of making the context current. If it is not success, calls in the scope fail too.
  Result result() const { return result_; }

 private:
  const Driver& driver_;
  Result result_;
};

}  // namespace canopy::cuda
