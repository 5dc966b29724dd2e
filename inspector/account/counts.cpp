#include "counts.h"

namespace canopy::inspector {

const char* reason_name(std::size_t reason) {
  return reason == kFlushedReason ? "flushed" : info_of(static_cast<Miss>(reason)).words;
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
