#include "counts.h"

namespace canopy::inspector {

std::size_t reason_of(const Verdict& verdict) {
  if (verdict.miss == Miss::evicted && verdict.missed_policy == kFlushPolicy) return kFlushedReason;
  return static_cast<std::size_t>(verdict.miss);
}

const char* reason_name(std::size_t reason) {
  static constexpr std::array<const char*, kReasons> kNames = {"not known yet",
                                                               "inserted meanwhile",
                                                               "never seen",
                                                               "evicted",
                                                               "other namespace",
                                                               "window tombstone",
                                                               "no state kept",
                                                               "page rounding",
                                                               "not known: before attaching",
                                                               "not known: lost in a lap",
                                                               "not known: forgotten",
                                                               "not known: no nodes reported",
                                                               "flushed"};
  return reason < kNames.size() ? kNames[reason] : "";
}

EvictionCause cause_of(Operation operation) {
  switch (operation) {
    case Operation::evict:
      return EvictionCause::room;
    case Operation::resize:
      return EvictionCause::limit;
    case Operation::flush:
      return EvictionCause::flush;
    default:
      return EvictionCause::other;
  }
}

}  // namespace canopy::inspector
