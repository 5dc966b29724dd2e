#pragma once

/// CANOPY_WIDE: a function with a loop over integers that is compiled for several vector widths. The system's loader
/// chooses the one for the machine.
#if defined(__x86_64__) && defined(__ELF__)
#define CANOPY_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CANOPY_WIDE
#endif
