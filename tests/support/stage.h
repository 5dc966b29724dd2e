#pragma once

#include <conformance/model/outcome.h>
#include <conformance/model/world_config.h>

#include <memory>
#include <string_view>

namespace canopy::test {

/// Runs the lines of a scenario and checks, line by line, everything else that must hold.
class Stage {
 public:
  virtual ~Stage() = default;
  /// A Mismatch says what cannot be understood, or what went wrong.
  virtual Outcome apply(std::string_view line) = 0;
  /// Releases everything, and checks that no page is missing.
  virtual void finish() = 0;
};

/// An index with locks (World), or an Engine with requests (RequestWorld).
std::unique_ptr<Stage> stage_of(const WorldConfig& config);

}  // namespace canopy::test
