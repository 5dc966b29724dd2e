#include "hazard.h"

using namespace canopy;

CANOPY_PLUGIN("1.0.0", provide<EvictionStrategy, hazard::Hazard>("hazard", hazard::Hazard::kRule));
