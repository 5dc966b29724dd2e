#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace canopy {

/// Keeps the ranks of one model in agreement. Each rank is a process (or a thread) with its own engine, and all engines
/// receive the same calls in the same order. Work in real time, such as a read from a storage, ends at a different time
/// on each rank and may fail on only one of them. Engine::turn calls this object once and uses only work that has ended
/// on every rank, so all engines make the same decisions.
///
/// A serving engine implements it with one all_reduce of its process group, with MIN as its operation:
///
///   const char* least(std::span<std::int64_t> values) override {
///     return all_reduce(values.data(), values.size(), Type::int64, Op::min) ? nullptr : "the process group is gone";
///   }
///
/// Each Engine::turn calls it exactly once, even if there is nothing to agree on, and always with kValues values, so
/// that no rank waits for an exchange that another rank skips. An engine makes no other calls.
class Agreement {
 public:
  static constexpr std::size_t kLanes = 3, kSlots = 32, kSlotValues = 4;
  /// Number of int64 values in an exchange: four common values, and those of the storage calls.
  static constexpr std::size_t kValues = 4 + kLanes * kSlots * kSlotValues;

  virtual ~Agreement() = default;

  /// Replaces each value by its minimum over all ranks. Waits for the other ranks. Returns null, or a short error
  /// message that is valid until the next call. On error (including an exception) the engine stops its tiers and makes
  /// no further calls. REQUIRES: values.size() == kValues.
  virtual const char* least(std::span<std::int64_t> values) = 0;
};

}  // namespace canopy
