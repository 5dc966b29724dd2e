#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <memory>

namespace canopy {

struct FetchState;

/// A prefix that Engine::fetch brings from a lower tier for a request that waits. It comes as a request that computes
/// nothing: its pages are reserved, filled by a copy, and committed at the Engine::turn that sees the copy's end. From
/// then on it holds the prefix, so that it is not evicted before the request begins. Destroying it earlier gives the
/// prefix up; the copy runs to its end, since its pages are not free before.
class Fetch {
 public:
  Fetch() = default;  ///< nothing was asked for
  Fetch(Fetch&& other) noexcept = default;
  Fetch& operator=(Fetch&& other) noexcept;
  ~Fetch() {
    if (state_) drop();
  }

  /// Nothing more comes: all is there, or nothing was to be had.
  bool done() const;
  std::uint32_t tokens() const;   ///< that it brings or has brought of the request's own prompt
  std::uint64_t ends_us() const;  ///< when the copy ends, in the time of Engine::turn; 0: it is done

  /// Microseconds from the request's asking to the end of the copy; until now if it has not ended.
  std::uint64_t took_us() const;

  /// Whether the request should begin now: all is there, or by the policy of `tiers.prefetch` it has waited enough, and
  /// computes what is missing. `again_us`: in how many microseconds it is asked again at the earliest, such as the next
  /// step of the scheduler; what ends sooner is of no use sooner.
  bool ready(std::uint64_t again_us = 0) const;
  /// When to turn and to ask that again: it may be true then. In the time of Engine::turn; 0: it is.
  std::uint64_t ready_us(std::uint64_t again_us = 0) const;

 private:
  friend class Engine;
  void hold(std::shared_ptr<FetchState> state, Units usable);
  void drop();
  std::shared_ptr<FetchState> state_;  ///< null: nothing comes
  bool asked_ = false;
  Units usable_ = 0;  ///< of the request's own prompt: it may have joined the fetch of a longer one
  std::uint64_t asked_us_ = 0;
};

}  // namespace canopy
