#include <canopy/plugin.h>

#include "contiguous.h"
#include "free_list.h"

using namespace canopy;
using namespace canopy::allocators;

CANOPY_PLUGIN("1.0.0", provide<SlotAllocator, FreeList>("free_list", "what came back last goes out first"),
              provide<SlotAllocator, Contiguous>("contiguous",
                                                 "prefers free neighbours, so that copies meet few pieces"));
