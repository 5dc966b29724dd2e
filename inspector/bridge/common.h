#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace canopy::bridge {

/// Counts the blocks of each worker, and those that others have as well: the same prefix in the same namespace, by its
/// name, because each worker may have its own hash for it.
class Common {
 public:
  static constexpr std::size_t kWorkers = 64;  ///< Most workers.

  /// Adds a block to a worker (`more`), or removes it. A block of name 0 (unknown) counts as the worker's own.
  /// REQUIRES: worker < kWorkers.
  void count(std::uint16_t worker, std::uint64_t name, bool more);

  std::uint64_t blocks_of(std::uint16_t worker) const { return blocks_[worker]; }
  /// Returns the blocks of a worker that at least one other has.
  std::uint64_t shared_of(std::uint16_t worker) const { return shared_[worker]; }

 private:
  std::array<std::uint64_t, kWorkers> blocks_{}, shared_{};
  struct Has {
    std::uint64_t workers = 0;                                      ///< Bits by worker.
    std::vector<std::pair<std::uint16_t, std::uint32_t>> repeated;  ///< Workers' blocks of the name beyond the first.
  };
  std::unordered_map<std::uint64_t, Has> names_;
};

}  // namespace canopy::bridge
