#include "any_strategy.h"
#include "canary.h"

CANOPY_DESCRIPTOR(canopy::kPluginMagic, sizeof(CanopyPlugin), "itanium/another_libc++/64", "1.0.0", kAnyComponents,
                  sizeof(CanopyComponent), std::size(kAnyComponents));
