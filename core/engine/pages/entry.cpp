#include "pages/entry.h"

#include <fmt/format.h>

namespace canopy {

void Entry::tell() {
  const char* const refused = state_.overlapped.exchange(nullptr, std::memory_order_relaxed);
  state_.ledger.violated(
      fmt::format("{} was called while {} was running, and did nothing: an engine and its requests "
                  "are for one thread, and its plugins may not call it",
                  refused, state_.inside.load(std::memory_order_relaxed)));
}

}  // namespace canopy
