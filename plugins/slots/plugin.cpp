#include <canopy/helpers/storage_of_one_process.h>

#include "slot_storage.h"

using namespace canopy;

CANOPY_PLUGIN("1.0.0",
              provide<PageStorage, StorageOfOneProcess<slots::SlotStorage>>("slots",
                                                                            "keeps records on a disk of this machine"));
