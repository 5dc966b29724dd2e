#pragma once

/// In front of a function whose loop the compiler can make wide: on x86-64 it exists twice, for AVX2 and for any
/// machine, and the system's loader chooses.
#if defined(__x86_64__) && defined(__ELF__)
#define CANOPY_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CANOPY_WIDE
#endif
