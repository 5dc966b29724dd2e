// A good plugin that looks for libraries in the folder `brought` beside it.
#include "any_strategy.h"
#include "canary.h"

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, AnyStrategy>("brings", "looks into a folder"));
