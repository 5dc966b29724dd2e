#pragma once

#include <canopy/eviction_strategy.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <string>

#include "node.h"

namespace canopy::python {

/// A policy that is a Python object. Only its method `rank` must be there; each other function is called if the object
/// has a method of its name.
///
/// An exception does not leave this class while C++ runs: it is kept, the policy is not called again and ranks as lru
/// does, and raise_failure() raises it when the C++ call has returned.
class PythonPolicy final : public EvictionStrategy {
  static_assert(std::string_view(kInterface) == "canopy.EvictionStrategy/4", "hand on the new functions too");

 public:
  /// REQUIRES: the GIL, as for the destructor. Throws TypeError if it has no method `rank`.
  explicit PythonPolicy(nb::object policy);
  ~PythonPolicy() override;

  const std::string& name() const { return name_; }
  bool failed() const { return failure_ != nullptr; }
  /// Raises the first exception, if there was one. REQUIRES: the GIL.
  void raise_failure();

  Rank rank(const NodeFacts& node) override;
  Volatility volatility() const override { return drifts_ ? Volatility::epoch : Volatility::none; }
  PolicyText describe() const override { return {rule_.c_str(), rank_text_.c_str()}; }
  bool spare(const NodeFacts& node) override;
  void evicted(const NodeFacts& node, const Eviction& eviction) override;
  void cleared() override;
  bool reads_prints() const override { return reads_prints_; }
  void arrived(const RequestFacts& request) override;
  void ended(const RequestFacts& request, Path& path) override;

 private:
  /// What a number of a rank is: the first one decides, so that all compare.
  enum class Number : std::uint8_t { unknown, integer, real };

  template <class Call>
  void call(const nb::object& method, Call&& call);
  Rank rank_of(PyObject* answer);
  std::uint64_t word_of(PyObject* number, Number& kind);

  nb::object policy_, rank_, spare_, evicted_, cleared_, arrived_, ended_;
  std::string name_, rule_, rank_text_;
  bool drifts_ = false, reads_prints_ = false;
  Number major_ = Number::unknown, minor_ = Number::unknown;
  NodeLender lender_;
  std::exception_ptr failure_;
};

void bind_policy(nb::module_& module);

}  // namespace canopy::python
