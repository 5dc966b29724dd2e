#pragma once

#include <mirror/mirror.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace canopy::inspector {

/// The latest events of a live feed, for a mirror that goes back. They are kept in parts. The first part has a copy of
/// the mirror at its beginning; later parts have one as long as all copies need at most half of the memory. The other
/// half is for events: if they need more, the oldest part is dropped. A single copy may exceed its half.
class KeptPast {
 public:
  using Clock = std::chrono::steady_clock;
  explicit KeptPast(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Keeps events. REQUIRES: `before` takes them next, and all events so far were passed.
  void add(std::span<const Event> events, const Mirror& before);
  /// Forgets everything: events were lost.
  void lost();

  /// Returns true if no earlier moment can be shown.
  bool empty() const { return parts_.empty(); }
  /// Returns the earliest commit that can be shown. REQUIRES: not empty.
  std::uint64_t first() const { return parts_.front().start->commits(); }
  /// Moves a mirror of the same feed to a commit, or towards it until `until`. `place`: the mirror's place among the
  /// events, which moves as well; 0: not known. Returns true if the mirror is there. A commit that is no longer kept
  /// becomes the earliest one.
  bool show(std::uint64_t commit, Mirror& mirror, std::uint64_t& place, Clock::time_point until);

  std::size_t bytes() const { return copied_bytes_ + event_bytes_; }
  std::size_t most_bytes() const { return most_bytes_; }

 private:
  static constexpr std::size_t kPartBytes = std::size_t{2} << 20;
  static constexpr std::uint64_t kNear = 256;  ///< commits
  struct Part {
    std::optional<Mirror> start;
    std::size_t start_bytes = 0;
    std::vector<Event> events;
    std::uint64_t first_event = 0;
    std::uint64_t end_event() const { return first_event + events.size(); }
  };
  void forget();
  void begin_part(const Mirror& mirror);
  void drop_oldest();
  void restart(std::uint64_t commit, Mirror& mirror, std::uint64_t& place);
  const Part& part_of(std::uint64_t event) const;

  std::size_t most_bytes_, copied_bytes_ = 0, event_bytes_ = 0;
  std::deque<Part> parts_;
  std::uint64_t end_ = 1;  ///< place after the last event
  bool whole_ = true;      ///< the last event so far ended a commit
  bool skipping_ = false;  ///< inside a keyframe that is not news to the mirror
  /// A copy shortly before the last target, for steps back from there.
  struct Near {
    Mirror mirror;
    std::uint64_t place = 0;
  };
  std::optional<Near> near_;
  std::uint64_t near_wanted_ = 0;  ///< commit at which to make it; 0: none
};

}  // namespace canopy::inspector
