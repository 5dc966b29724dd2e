// A good plugin that reports when it is loaded.
#include "any_strategy.h"
#include "canary.h"

CANOPY_PLUGIN("1.0.0",
              canopy::provide<canopy::EvictionStrategy, AnyStrategy>("says_loaded", "reports when it is loaded"));
