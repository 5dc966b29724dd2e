#pragma once

#include <canopy/feed/command.h>
#include <canopy/types.h>

#include <array>
#include <string>
#include <utility>

namespace canopy {

/// What a run waits for. The engine tells it what happens, and it says when the condition is met. It knows nothing else
/// of the engine, and costs the engine a branch while it waits for nothing.
class StopCondition {
 public:
  /// Requests that a hit rate is taken over: fewer would stop at the first miss, more would stop late.
  static constexpr std::size_t kRequests = 64;

  void wait_for(const Command& command);
  void forget() { waiting_ = false; }
  bool waiting() const { return waiting_; }
  const Command& command() const { return command_; }

  void evicted(std::size_t group, std::size_t pages);
  /// `reusable`: prompt tokens that a request could have found at most.
  void began(std::uint64_t request, NamespaceId space, std::uint32_t prompt, std::uint32_t matched,
             std::uint32_t reusable);
  void free_pages(std::uint64_t pages);

  /// A sentence about how the condition was met, which is then forgotten; empty if it was not met.
  std::string take_reason();

 private:
  bool waits_for(Condition condition) const { return waiting_ && reason_.empty() && command_.until == condition; }

  bool waiting_ = false;
  Command command_{};
  std::string reason_;
  std::array<std::uint32_t, kRequests> prompts_{}, hits_{};
  std::uint64_t begun_ = 0, prompt_sum_ = 0, hit_sum_ = 0;
};

}  // namespace canopy
