#include "any_strategy.h"
#include "canary.h"

CANOPY_DESCRIPTOR(0x21544F4E, sizeof(CanopyPlugin), CANOPY_TOOLCHAIN, "1.0.0", kAnyComponents, sizeof(CanopyComponent),
                  std::size(kAnyComponents));
