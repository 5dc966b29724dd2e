#include "aged.h"
#include "orders.h"

using namespace canopy;
using namespace canopy::eviction;

CANOPY_PLUGIN("1.0.0", provide<EvictionStrategy, Lru>("lru", "what was used longest ago leaves first"),
              provide<EvictionStrategy, Lfu>("lfu", "what was used least often leaves first"),
              provide<EvictionStrategy, Fifo>("fifo", "what was created first leaves first"),
              provide<EvictionStrategy, Filo>("filo", "what was created last leaves first"),
              provide<EvictionStrategy, Mru>("mru", "what was used last leaves first"),
              provide<EvictionStrategy, Priority>("priority", "the lowest request priority leaves first"),
              provide<EvictionStrategy, Slru>("slru", "one-hit prefixes leave first"),
              provide<EvictionStrategy, Clock>("clock", "second chance: who was hit goes round once more"),
              provide<EvictionStrategy, LfuDa>("lfu_da", "least often used, and old hits fade"));
