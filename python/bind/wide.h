#pragma once

/// CANOPY_WIDE: a loop over integers that exists for some widths of vectors. The system's loader chooses by the
/// machine.
#if defined(__x86_64__) && defined(__ELF__)
#define CANOPY_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CANOPY_WIDE
#endif
