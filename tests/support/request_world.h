#pragma once

#include "stage.h"

#include <canopy/engine/engine.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// An Engine and its requests, by name. After every line the engine's ledger proves that each page has one owner.
/// Answers of a group carry its name: "window.free". With words=pages, counts of tokens are in pages too.
///
///   begin a 1 2 3 leave=0 priority=1  -> matched    # finds and locks the cached prefix
///   reserve a 3 soon=2                -> refused    # pages for its first 3 tokens, evicting what is missing
///   append a 4 5                                    # output
///   advance a 2    commit a 2    finish a 3         # so many tokens are computed; without a number: all
///   abort a    retract a    resume a  -> matched
///   serve 1 2 3                       -> matched    # a whole request: begins, computes everything, finishes
///   admits 1 2 3 output=4 chunk=2     -> now        # or wait, or never
///   row a                             -> full.row 1 2, window.row 0 2, computed 2, committed 2, reserved 2
///   peek 1 2 3    flush    room window 2    state    tree
class RequestWorld final : public Stage {
 public:
  explicit RequestWorld(const WorldConfig& config);

  Outcome apply(std::string_view line) override;
  void finish() override;

 private:
  /// A line in parts.
  struct Line {
    std::string_view verb;
    std::vector<std::string_view> words;
    std::map<std::string_view, std::uint32_t> settings;
  };
  static Line parsed(std::string_view line);

  Outcome begin(const Line& line);
  Outcome serve(const Line& line);
  Outcome admits(const Line& line);
  Outcome end(const Line& line, Request& request);
  Outcome move_on(const Line& line, Request& request);
  Outcome row(const Request& request) const;
  Outcome state() const;

  Request& request(const Line& line);
  std::optional<std::size_t> group(std::string_view name) const;
  RequestSpec arrival(const Line& line, std::span<const Token> prompt) const;
  std::vector<Token> tokens(std::span<const std::string_view> words) const;
  /// The number that stands first behind a request's name, in tokens; `otherwise` if none does.
  std::uint32_t count(const Line& line, std::uint32_t otherwise) const;
  /// The tokens that are computed now: those of `count`, or all.
  std::uint32_t computed(const Line& line, const Request& request) const;
  std::uint64_t in_units(std::uint64_t tokens) const { return tokens / scale_; }
  std::uint32_t meant(std::uint32_t count) const { return count * scale_; }
  void check();

  WorldConfig config_;
  std::uint32_t scale_;  ///< tokens of a unit of lengths in scenarios
  std::vector<std::string> names_;
  std::unique_ptr<Engine> engine_;
  std::map<std::string, Request, std::less<>> requests_;
};

}  // namespace canopy::test
