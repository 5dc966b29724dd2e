#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <memory>

namespace canopy {

struct FetchState;

/// A prefix that Tiers::fetch brings from a lower tier for a waiting request. Internally it is a request that computes
/// nothing: its pages are reserved, filled by a copy, and committed by the Engine::turn after the copy ends. From then
/// on it locks the prefix, so that it is not evicted before the request begins. Destroying the object earlier abandons
/// the prefix; the copy still runs to its end, because its pages are not free before.
class Fetch {
 public:
  Fetch() = default;  ///< without a prefix: nothing was requested
  Fetch(Fetch&& other) noexcept = default;
  Fetch& operator=(Fetch&& other) noexcept;
  ~Fetch() {
    if (state_) drop();
  }

  /// Returns true when the fetch has completed or found nothing.
  bool done() const;
  std::uint32_t tokens() const;   ///< tokens of its own prompt that the fetch brings or has brought
  std::uint64_t ends_us() const;  ///< end of the copy, on the clock of Engine::turn; 0 if done()

  /// Returns the microseconds from the request's call of Tiers::fetch to the end of the copy, or until now if it has
  /// not ended.
  std::uint64_t took_us() const;

  /// Returns true if the request should begin now: the fetch is done, or the policy of `tiers.prefetch` allows no
  /// further wait, and the request computes what is missing. `again_us`: microseconds until the next call at the
  /// earliest, such as the next step of the scheduler. Completions before then make no difference.
  bool ready(std::uint64_t again_us = 0) const;
  /// Returns the time, on the clock of Engine::turn, at which to call turn() and ready() again, which may then return
  /// true; 0 if ready() is true now.
  std::uint64_t ready_us(std::uint64_t again_us = 0) const;

 private:
  friend class Tiers;
  friend class TierFlow;
  void hold(std::shared_ptr<FetchState> state, Units usable);
  void drop();
  std::shared_ptr<FetchState> state_;  ///< may be null (no fetch)
  bool was_requested_ = false;
  Units usable_ = 0;  ///< units of the request's own prompt; it may have joined the fetch of a longer one
  std::uint64_t called_us_ = 0;
};

}  // namespace canopy
