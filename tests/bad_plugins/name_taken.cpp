#include "any_strategy.h"

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, AnyStrategy>("lru", "a name that is in use"));
