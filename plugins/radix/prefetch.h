#pragma once

namespace canopy::radix {

inline void prefetch(const void* at) { __builtin_prefetch(at); }

}  // namespace canopy::radix
