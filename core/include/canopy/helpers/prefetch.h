#pragma once

namespace canopy {

/// Loads the cache line at `at`, which is read soon, into the caches. `at` may be any address.
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  // Gives the function an effect: otherwise g++ 12 removes its calls.
  asm volatile("" : : "r"(at));
}

}  // namespace canopy
