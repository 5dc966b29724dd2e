#pragma once

#include <conformance/model/operation.h>

#include <memory>
#include <string_view>

namespace canopy::test {

/// Where a scenario plays: it does what a line says, and watches that nothing goes wrong besides.
class Stage {
 public:
  virtual ~Stage() = default;
  /// A Mismatch says what cannot be understood, or what went wrong.
  virtual Outcome apply(std::string_view line) = 0;
  /// Lets go of everything, and checks that nothing is missing.
  virtual void finish() = 0;
};

/// An index with one group that needs the whole path (World), an index with several (GroupWorld), or an Engine with
/// requests (RequestWorld).
std::unique_ptr<Stage> stage_of(const WorldConfig& config);

}  // namespace canopy::test
