#include <canopy/plugin.h>

#include "contiguous.h"
#include "free_list.h"
#include "segments.h"

using namespace canopy;
using namespace canopy::allocators;

CANOPY_PLUGIN("1.0.0", provide<SlotAllocator, FreeList>("free_list", "hands out what was freed last"),
              provide<SlotAllocator, Contiguous>("contiguous",
                                                 "prefers free neighbours, so that copies meet few pieces"),
              provide<SlotAllocator, Segments>(
                  "segments", "fills the fullest segment first, so that the memory of others can be given back"));
