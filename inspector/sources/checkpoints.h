#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <map>

namespace canopy::inspector {

/// Copies of the mirror at moments of a recording, so that going back begins at the copy before and not at the start.
/// They are `distance` commits apart. When they would take more than `most_bytes` (Mirror::bytes, which counts memory
/// that copies share once for each), every other one is dropped and the distance doubles. One more copy is kept shortly
/// before the last place gone back to, for further steps back from there.
class Checkpoints {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20;
  static constexpr std::uint64_t kDistance = 1024, kNear = 256;
  explicit Checkpoints(std::size_t most_bytes = kMostBytes, std::uint64_t distance = kDistance)
      : most_bytes_(most_bytes), distance_(distance) {}

  /// The mirror has been brought to `commit`; it is copied if one is due here.
  void pass(std::uint64_t commit, const Mirror& mirror);
  /// The next commit at which pass() should be called, after `commit`.
  std::uint64_t next(std::uint64_t commit) const;
  /// Sets `mirror` to the latest copy at or before `commit` and returns that copy's commit; 0: the beginning.
  std::uint64_t go_back(std::uint64_t commit, Mirror& mirror);

  std::uint64_t distance() const { return distance_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return kept_.size(); }

 private:
  std::size_t most_bytes_, bytes_ = 0;
  std::uint64_t distance_, wanted_ = 0;  ///< wanted_: commit of the copy to keep before the last place
  std::map<std::uint64_t, Mirror> kept_;
  std::map<std::uint64_t, Mirror> near_;  ///< one at most
};

}  // namespace canopy::inspector
