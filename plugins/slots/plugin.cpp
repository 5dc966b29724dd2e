#include "slot_storage.h"

using namespace canopy;

CANOPY_PLUGIN("1.0.0",
              provide<PageStorage, AsyncStorage<slots::SlotStorage>>("slots",
                                                                     "keeps records on a disk of this machine"));
