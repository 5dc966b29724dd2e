#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace canopy {

/// How the ranks of one model agree. Each rank is a process (or a thread) with an engine of its own, and all engines
/// get the same calls in the same order. What ends by itself, such as a read from a storage, ends at another time on
/// each rank, and may fail on one of them alone. Engine::turn asks this object once, and takes what has ended on every
/// rank. So all engines decide the same.
///
/// A serving engine implements it with one all_reduce of its process group, with MIN as its operation:
///
///   const char* least(std::span<std::int64_t> values) override {
///     return all_reduce(values.data(), values.size(), Type::int64, Op::min) ? nullptr : "the process group is gone";
///   }
///
/// Engine::turn calls it exactly once, whatever there is to agree on, and always with kValues values. So no rank waits
/// for an exchange that another one leaves out. An engine makes no other call.
class Agreement {
 public:
  static constexpr std::size_t kLanes = 3, kSlots = 32, kSlotValues = 4;
  /// int64 values of an exchange: four for all, and those of the calls of a storage.
  static constexpr std::size_t kValues = 4 + kLanes * kSlots * kSlotValues;

  virtual ~Agreement() = default;

  /// Replaces each value by the least that any rank has at its place. Waits for the other ranks. Null; or, if that
  /// cannot be, why not, in a few words that are valid until the next call: the engine then stops its tiers, and asks
  /// no more. What it throws counts as that. REQUIRES: values.size() == kValues.
  virtual const char* least(std::span<std::int64_t> values) = 0;
};

}  // namespace canopy
