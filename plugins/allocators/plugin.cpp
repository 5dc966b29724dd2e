#include <canopy/plugin.h>

#include "contiguous.h"
#include "free_list.h"
#include "segments.h"

using namespace canopy;
using namespace canopy::allocators;

CANOPY_PLUGIN("1.0.0", provide<SlotAllocator, FreeList>("free_list", "hands out the pages that were freed last"),
              provide<SlotAllocator, Contiguous>("contiguous",
                                                 "prefers adjacent free pages, so that copies have few pieces"),
              provide<SlotAllocator, Segments>(
                  "segments", "fills the fullest segment first, so that the memory of the others can be given back"));
