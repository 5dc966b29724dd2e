#pragma once

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
  ~Fetch();

  /// Nothing more comes: all is there, or nothing was to be had.
  bool done() const;
  std::uint32_t tokens() const;   ///< that it brings or has brought
  std::uint64_t ends_us() const;  ///< when the copy ends, in the time of Engine::turn; 0: it is done

 private:
  friend class Engine;
  void hold(std::shared_ptr<FetchState> state);
  void drop();
  std::shared_ptr<FetchState> state_;  ///< null: nothing comes
  bool asked_ = false;
};

}  // namespace canopy
