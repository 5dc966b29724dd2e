#pragma once

namespace canopy {

/// Asks for the line of memory at `at`, which is read soon. It may be any address.
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  // An effect: g++ 12 takes a function that does nothing but prefetch for one without any, and leaves its calls out.
  asm volatile("" : : "r"(at));
}

}  // namespace canopy
