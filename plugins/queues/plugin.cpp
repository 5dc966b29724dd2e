#include "arc.h"
#include "s3_fifo.h"
#include "sieve.h"

using namespace canopy;
using namespace canopy::queues;

CANOPY_PLUGIN("1.0.0", provide<EvictionStrategy, Arc>("arc", Arc::kRule),
              provide<EvictionStrategy, S3Fifo>("s3_fifo", S3Fifo::kRule),
              provide<EvictionStrategy, Sieve>("sieve", Sieve::kRule));
