#pragma once

#include <canopy/eviction_strategy.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <span>
#include <string>

#include "node.h"

namespace canopy::python {

/// A policy that is a Python object. Only its method `rank` is required; each other function is called if the object
/// has a method of that name.
///
/// An exception is not raised while C++ runs: it is kept, and the object is no longer called, but ranks are those of
/// lru, until raise_failure() raises it after the C++ call has returned.
class PythonPolicy final : public EvictionStrategy {
  static_assert(std::string_view(kInterface) == "canopy.EvictionStrategy/4.0", "pass on the new functions too");

 public:
  /// Throws TypeError if the object has no method `rank`. REQUIRES: the GIL, as the destructor does.
  explicit PythonPolicy(nb::object policy);
  ~PythonPolicy() override;

  const std::string& name() const { return name_; }
  bool failed() const { return failure_ != nullptr; }
  /// Raises the first exception, if there was one. `result`, if it is an object, is what the failed call would have
  /// returned: the exception gets it as `canopy_result`, so that no slot is lost. REQUIRES: the GIL.
  void raise_failure(const nb::object& result = {});
  /// Returns the first exception as a text, "KeyError: 'a'". Raises what is no Exception, such as KeyboardInterrupt: it
  /// is not the policy's. REQUIRES: failed(), and the GIL.
  std::string take_failure(const nb::object& result = {});

  /// Calls visit(object) for each object of Python that this one has, for Python's collector, until a call returns
  /// another value than 0. Returns that value.
  template <class Visit>
  int each_object(Visit&& visit) const {
    for (const nb::handle object :
         {nb::handle(policy_), nb::handle(rank_), nb::handle(rank_many_), nb::handle(spare_), nb::handle(evicted_),
          nb::handle(cleared_), nb::handle(arrived_), nb::handle(ended_)})
      if (const int stop = object ? visit(object) : 0) return stop;
    return 0;
  }
  /// Gives up the policy's object. From then on ranks are those of lru.
  void let_go();

  Rank rank(const NodeFacts& node) override;
  void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) override;
  Volatility volatility() const override { return drifts_ ? Volatility::epoch : Volatility::none; }
  PolicyText describe() const override { return {rule_.c_str(), "rank {major:number}, {minor:number}"}; }
  bool spare(const NodeFacts& node) override;
  void evicted(const NodeFacts& node, const Eviction& eviction) override;
  void cleared() override;
  Prints reads_prints() const override { return reads_prints_; }
  void arrived(const RequestFacts& request) override;
  void ended(const RequestFacts& request, Path& path) override;

 private:
  template <class Call>
  void call(const nb::object& method, Call&& call);
  void read_ranks(const nb::object& answer, std::span<Rank> ranks);

  nb::object policy_, rank_, rank_many_, spare_, evicted_, cleared_, arrived_, ended_;
  std::string name_, rule_;
  bool drifts_ = false;
  Prints reads_prints_ = Prints::none;
  NodeLender lender_;
  std::exception_ptr failure_;
};

void bind_policy(nb::module_& module);

}  // namespace canopy::python
