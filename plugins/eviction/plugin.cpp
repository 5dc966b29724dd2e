#include "aged.h"
#include "orders.h"

using namespace canopy;
using namespace canopy::eviction;

CANOPY_PLUGIN("1.0.0", provide<EvictionStrategy, Lru>("lru", "evicts what was used longest ago"),
              provide<EvictionStrategy, Lfu>("lfu", "evicts what was used least often"),
              provide<EvictionStrategy, Fifo>("fifo", "evicts what was created first"),
              provide<EvictionStrategy, Filo>("filo", "evicts what was created last"),
              provide<EvictionStrategy, Mru>("mru", "evicts what was used last"),
              provide<EvictionStrategy, Priority>("priority", "evicts the lowest request priority"),
              provide<EvictionStrategy, Slru>("slru", "evicts one-hit prefixes first"),
              provide<EvictionStrategy, Clock>("clock", "second chance: a prefix that was hit goes round once more"),
              provide<EvictionStrategy, LfuDa>("lfu_da", "evicts what was used least often, and old hits fade"));
