#pragma once

#include <canopy/feed/command.h>
#include <canopy/types.h>

#include <array>
#include <optional>
#include <utility>

#include <cache/guard/sentence.h>

namespace canopy {

/// The condition that ends a run_until command. The engine reports its events to this object, which decides when the
/// condition is met. It knows nothing else of the engine, takes no memory, and costs one branch while no condition is
/// set.
class StopCondition {
 public:
  /// Requests over which a hit rate is measured: fewer would stop at the first miss, more would stop late.
  static constexpr std::size_t kRequests = 64;

  void wait_for(const Command& command);
  void forget() { waiting_ = false; }
  bool waiting() const { return waiting_; }
  const Command& command() const { return command_; }

  void evicted(std::size_t group, std::size_t pages);
  /// Reports a new request. `reusable`: most prompt tokens that it could have found.
  void began(std::uint64_t request, NamespaceId space, std::uint32_t matched, std::uint32_t reusable);
  /// Reports that a request was admitted.
  void admitted(std::uint32_t prompt, std::uint32_t hit);
  void free_pages(std::uint64_t pages);

  /// Returns a sentence about how the condition was met, and clears the condition. Nothing if it was not met.
  std::optional<Sentence> take_reason();

 private:
  bool waits_for(Condition condition) const { return waiting_ && !reason_ && command_.until == condition; }

  bool waiting_ = false;
  Command command_{};
  std::optional<Sentence> reason_;
  std::array<std::uint32_t, kRequests> prompts_{}, hits_{};
  std::uint64_t admitted_ = 0, prompt_sum_ = 0, hit_sum_ = 0;
};

}  // namespace canopy
