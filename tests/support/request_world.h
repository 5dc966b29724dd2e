#pragma once

#include <program/operation.h>

#include "stage.h"

#include <canopy/engine/engine.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

using program::Operation, program::Verb;

/// An Engine and its requests, by name. After every line the engine's ledger proves that each page has one owner.
/// Answers of a group carry its name: "window.free". With words=pages, counts of tokens are in pages too.
///
///   begin a leave=0 1 2 3             -> matched
///   reserve a 3                       -> refused
///   commit a 2                        -> repointed
///   resume a                          -> matched
///   serve 1 2 3                       -> matched    # begins, computes everything, finishes
///   admits output=4 chunk=2 1 2 3     -> now        # or wait, or never
///   row a                             -> full.row 1 2, window.row 0 2, computed 2, committed 2, reserved 2
class RequestWorld final : public Stage {
 public:
  explicit RequestWorld(const WorldConfig& config);

  Outcome apply(std::string_view line) override;
  void finish() override;

 private:
  Outcome run(const Operation& line);
  Outcome serve(const Operation& line);
  Outcome end(const Operation& line, Request& request);
  Outcome move_on(const Operation& line, Request& request);
  Outcome row(const Request& request) const;
  Outcome state() const;

  Request& request(const Operation& line);
  RequestSpec arrival(const Operation& line) const;
  /// Returns the number of a line in tokens; if it has none, all of the request.
  std::uint32_t count(const Operation& line, const Request& request) const;
  /// The tokens that are computed now.
  std::uint32_t computed(const Operation& line, const Request& request) const;
  std::uint64_t in_units(std::uint64_t tokens) const { return tokens / scale_; }
  std::uint32_t meant(std::uint64_t count) const { return static_cast<std::uint32_t>(count * scale_); }
  void check();

  WorldConfig config_;
  std::uint32_t scale_;  ///< tokens of a unit of lengths in scenarios
  std::vector<std::string> names_;
  std::unique_ptr<Engine> engine_;
  std::map<std::string, Request, std::less<>> requests_;
};

}  // namespace canopy::test
