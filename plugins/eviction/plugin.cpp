#include "aged.h"
#include "orders.h"

using namespace canopy;
using namespace canopy::eviction;

CANOPY_PLUGIN("1.2.0", provide<EvictionStrategy, Lru>("lru", Lru::kRule),
              provide<EvictionStrategy, Lfu>("lfu", Lfu::kRule), provide<EvictionStrategy, Fifo>("fifo", Fifo::kRule),
              provide<EvictionStrategy, Filo>("filo", Filo::kRule), provide<EvictionStrategy, Mru>("mru", Mru::kRule),
              provide<EvictionStrategy, Priority>("priority", Priority::kRule),
              provide<EvictionStrategy, Slru>("slru", Slru::kRule),
              provide<EvictionStrategy, Tlru>("tlru", Tlru::kRule),
              provide<EvictionStrategy, Clock>("clock", Clock::kRule),
              provide<EvictionStrategy, LfuDa>("lfu_da", LfuDa::kRule));
