#pragma once

#include <canopy/engine/agreement.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace canopy::python {

namespace nb = nanobind;

/// An agreement that is a Python callable. It gets one NumPy array of int64, the same in each call, and leaves in each
/// place the least of all ranks.
///
/// An exception does not leave this class while C++ runs: it is kept until raise_failure().
class PythonAgreement final : public Agreement {
 public:
  /// REQUIRES: the GIL, as for all else. Throws TypeError if it cannot be called.
  explicit PythonAgreement(nb::object callable) : callable_(std::move(callable)) {
    if (!PyCallable_Check(callable_.ptr())) throw nb::type_error("agreement: expected a callable of one NumPy array");
    values_ = new std::int64_t[kValues]();
    const nb::capsule owner(values_, [](void* values) noexcept { delete[] static_cast<std::int64_t*>(values); });
    array_ = nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(values_, {kValues}, owner));
  }

  const char* least(std::span<std::int64_t> values) override {
    std::ranges::copy(values, values_);
    try {
      callable_(array_);
    } catch (...) {
      failure_ = std::current_exception();
      return "it raised an exception";
    }
    std::copy_n(values_, values.size(), values.begin());
    return nullptr;
  }

  bool failed() const { return failure_ != nullptr; }
  /// Raises what the callable raised.
  void raise_failure() { std::rethrow_exception(std::exchange(failure_, nullptr)); }

 private:
  nb::object callable_, array_;
  std::int64_t* values_ = nullptr;  ///< of array_
  std::exception_ptr failure_;
};

}  // namespace canopy::python
