#pragma once

#include <canopy/engine/agreement.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "gil.h"

namespace canopy::python {

namespace nb = nanobind;

/// An agreement that calls a Python callable. The argument is one NumPy array of int64, the same in each call; the
/// callable replaces each value with the least of all ranks.
///
/// An exception is not raised while C++ runs: it is kept until raise_failure().
class PythonAgreement final : public Agreement {
 public:
  /// Throws TypeError if the object cannot be called. REQUIRES, for all functions: the GIL.
  explicit PythonAgreement(nb::object callable) : callable_(std::move(callable)) {
    if (!PyCallable_Check(callable_.ptr())) throw nb::type_error("agreement: expected a callable of one NumPy array");
    values_ = new std::int64_t[kValues]();
    const nb::capsule owner(values_, [](void* values) noexcept { delete[] static_cast<std::int64_t*>(values); });
    array_ = nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(values_, {kValues}, owner));
  }

  const char* least(std::span<std::int64_t> values) override {
    std::ranges::copy(values, values_);
    try {
      unless_python_ends([this] { callable_(array_); });
    } catch (...) {
      failure_ = std::current_exception();
      return "it raised an exception";
    }
    std::copy_n(values_, values.size(), values.begin());
    return nullptr;
  }

  bool failed() const { return failure_ != nullptr; }
  /// Raises the exception of the callable.
  void raise_failure() { std::rethrow_exception(std::exchange(failure_, nullptr)); }

 private:
  nb::object callable_, array_;
  std::int64_t* values_ = nullptr;  ///< elements of array_
  std::exception_ptr failure_;
};

}  // namespace canopy::python
