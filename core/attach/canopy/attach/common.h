#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace canopy::attach {

/// How many blocks each worker has, and how many of them others have as well: the same prefix in the same namespace,
/// by its name, since each worker may have a hash of its own for it.
class Common {
 public:
  static constexpr std::size_t kWorkers = 64;  ///< at most

  /// A worker has a block from now on, or no longer. `name` 0: the name is not known, so that it counts as the
  /// worker's own. REQUIRES: worker < kWorkers.
  void count(std::uint16_t worker, std::uint64_t name, bool more);

  std::uint64_t blocks_of(std::uint16_t worker) const { return blocks_[worker]; }
  /// Blocks of a worker that at least one other has.
  std::uint64_t shared_of(std::uint16_t worker) const { return shared_[worker]; }
  /// Different blocks that so many workers have.
  std::uint64_t had_by(std::size_t workers) const { return had_by_[workers]; }

 private:
  std::array<std::uint64_t, kWorkers> blocks_{}, shared_{};
  std::array<std::uint64_t, kWorkers + 1> had_by_{};
  struct Has {
    std::uint64_t workers = 0;                                      ///< bits
    std::vector<std::pair<std::uint16_t, std::uint32_t>> repeated;  ///< a worker's blocks of one name, beyond the first
  };
  std::unordered_map<std::uint64_t, Has> names_;
};

}  // namespace canopy::attach
