#include <bench/baseline_index.h>

CANOPY_PLUGIN("1.0.0",
              canopy::provide<canopy::PrefixIndex, canopy::bench::BaselineIndex>(
                  "baseline", "the original's algorithm, so that the suites can hold it to what an index owes"));
