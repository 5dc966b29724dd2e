#pragma once

#include <canopy/base/doubts.h>
#include <workload/request_source.h>

#include <cstdint>
#include <string>

namespace canopy::lab {

/// The number of requests of an input and a hash of all of them, whatever file they came from: two readings with equal
/// sums read the same.
class InputSum {
 public:
  void add(const workload::ClientRequest& client);
  std::uint64_t requests() const { return requests_; }
  std::uint64_t hash() const { return hash_; }
  bool operator==(const InputSum&) const = default;

 private:
  std::uint64_t requests_ = 0, hash_ = 0;
};

/// Returns the doubt of a later reading of an input, which `what` names: nothing if it read the same as the first one.
Doubts doubts_between(const InputSum& first, const InputSum& later, const std::string& what);

}  // namespace canopy::lab
