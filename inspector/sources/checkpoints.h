#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <map>

namespace canopy::inspector {

/// Copies of the mirror at moments of a recording, so that going back starts from the nearest earlier copy and not from
/// the beginning. They are `distance` commits apart. If they would exceed `most_bytes` (Mirror::bytes, which counts
/// shared memory once per copy), every other one is dropped and the distance doubles; if one copy alone would, there is
/// none. One more copy is kept shortly before the last target, for steps back from there: it shares nearly all its
/// memory with the mirror.
class Checkpoints {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20;
  static constexpr std::uint64_t kDistance = 1024, kNear = 256;
  explicit Checkpoints(std::size_t most_bytes = kMostBytes, std::uint64_t distance = kDistance)
      : most_bytes_(most_bytes), distance_(distance) {}

  /// Copies the mirror, which is at `commit`, if a copy is due here.
  void pass(std::uint64_t commit, const Mirror& mirror);
  /// Returns the next commit after `commit` at which pass() should be called.
  std::uint64_t next(std::uint64_t commit) const;
  /// Keeps a copy shortly before commit `target`, to which the mirror is read on from commit `from`.
  void expect(std::uint64_t from, std::uint64_t target);
  /// Sets `mirror` to the latest copy at or before `commit` and returns that copy's commit; 0 means the beginning.
  std::uint64_t go_back(std::uint64_t commit, Mirror& mirror);

  /// Sets `mirror` to the latest regular copy at or before `commit`, if there is one. Returns that copy's commit; 0:
  /// none.
  std::uint64_t copy_before(std::uint64_t commit, Mirror& mirror) const;

  std::uint64_t distance() const { return distance_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return kept_.size(); }

 private:
  std::size_t most_bytes_, bytes_ = 0;
  std::uint64_t distance_, wanted_ = 0;  ///< wanted_: commit of the copy to keep before the last target
  std::map<std::uint64_t, Mirror> kept_;
  std::map<std::uint64_t, Mirror> near_;  ///< at most one
};

}  // namespace canopy::inspector
