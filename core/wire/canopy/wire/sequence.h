#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace canopy::wire {

/// Where a message stands in its stream.
enum class Order {
  first,     ///< seen of this publisher. What it sent before is unknown unless the sequence is 0
  next,      ///< the one behind the newest
  ahead,     ///< some between the newest and this one have not come: a gap
  late,      ///< one of a gap
  repeated,  ///< it came before
  restart,   ///< the publisher began again: what it held is gone
};

/// Watches the sequence numbers of one publisher. A publisher drops messages silently when a subscriber is slow, so
/// that only the sequence tells; one that restarts begins again at 0.
///
/// A sequence below the newest is a restart if its batch has a later time than every batch before, otherwise it is late
/// or repeated. A server whose clock was set back while it restarted is not noticed, unless its first batch clears:
/// pass `clears`.
class SequenceWatch {
 public:
  /// `clears`: the batch has a cleared event.
  Order see(std::uint64_t sequence, double time, bool clears);

  std::uint64_t gaps = 0;      ///< times that messages were missing
  std::uint64_t missing = 0;   ///< messages of gaps that have not come so far
  std::uint64_t repaired = 0;  ///< messages of gaps that came late
  std::uint64_t repeated = 0, restarts = 0;

 private:
  static constexpr std::size_t kMostGaps = 1024;  ///< that can still be repaired; older ones stay missing
  struct Gap {
    std::uint64_t begin, end;
  };
  bool fill(std::uint64_t sequence);
  void remember(Gap gap);
  void begin_at(std::uint64_t sequence, double time);

  bool began_ = false;
  std::uint64_t next_ = 0;
  double newest_time_ = 0, first_time_ = 0;
  std::vector<Gap> gaps_;
};

}  // namespace canopy::wire
