#pragma once

#include <canopy/feed/feed.h>

#include <array>
#include <string>
#include <utility>

namespace canopy {

/// What a run goes on until: it is told what an engine does and says when that is enough. Knows nothing else of the
/// engine, and costs it a branch while nothing is waited for.
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

  /// A sentence that says what came to pass; empty if nothing has. What is waited for then is forgotten.
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
