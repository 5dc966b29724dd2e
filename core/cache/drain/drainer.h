#pragma once

#include <array>
#include <optional>
#include <vector>

#include <cache/cache_state.h>
#include <cache/pages/page_flow.h>

namespace canopy {

/// Changes the limits of pools while the engine runs. Pages above a lower limit are evicted, unlocked pages in draining
/// segments are relocated, and the pool waits for pages that a request owns or a lock holds.
class Drainer {
 public:
  explicit Drainer(PageFlow& pages) : pages_(pages), state_(pages.state()) {}

  void resize(std::size_t group, std::uint64_t pages);
  /// Returns the holders of pages that the group's pool waits for.
  std::vector<Blocker> blockers(std::size_t group) const;
  /// Notes, before a lock or a request releases its pages, whether a pool waits for one of them.
  void releasing(const Lock& lock);
  void releasing(const RequestState& request);
  /// Makes the next pass, if one is due, after an operation that may have released pages.
  void go_on();

 private:
  /// Decides whether a pass over a draining pool is worth its cost.
  struct Passes {
    bool pending = false;         ///< a draining page was unlocked or freed since the last pass
    std::uint32_t backoff = 0;    ///< operations between passes
    std::uint32_t countdown = 0;  ///< operations until the next pass
  };
  void pass(std::size_t group);
  bool withdraw(Pool& pool);
  static void try_later(Passes& passes);
  std::optional<std::size_t> relocate(std::size_t group);
  std::uint64_t draining_under(const Lock& lock, std::size_t group) const;
  std::uint64_t draining_under(const RequestState& request, std::size_t group) const;
  template <class Released>
  void note(const Released& released);

  PageFlow& pages_;
  CacheState& state_;
  std::array<Passes, kMaxGroups> passes_{};
};

}  // namespace canopy
