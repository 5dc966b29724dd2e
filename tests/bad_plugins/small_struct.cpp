#include "any_strategy.h"
#include "canary.h"

/// From before `toolchain` and what follows it.
CANOPY_DESCRIPTOR(canopy::kPluginMagic, 8, CANOPY_TOOLCHAIN, "1.0.0", kAnyComponents, sizeof(CanopyComponent),
                  std::size(kAnyComponents));
