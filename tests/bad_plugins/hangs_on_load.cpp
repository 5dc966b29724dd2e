// Keeps the process that loads it waiting for ever.
#include "any_strategy.h"

#include <unistd.h>

namespace {

struct AtLoading {
  AtLoading() {
    for (;;) ::pause();
  }
};
const AtLoading kAtLoading;

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, AnyStrategy>("any", "as it says"));
