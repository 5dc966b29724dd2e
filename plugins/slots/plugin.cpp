#include "slots.h"

using namespace canopy;

CANOPY_PLUGIN("1.0.0", provide<PageStorage, slots::Slots>("slots", "keeps records on a disk of this machine"));
