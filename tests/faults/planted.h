#pragma once

#include <cstdlib>

/// Number in planted_list.h of the planted fault that is switched on; 0: none. PLANTED in a .fault file compares with
/// it.
inline const int canopy_planted = [] {
  const char* number = std::getenv("CANOPY_PLANTED");
  return number ? std::atoi(number) : 0;
}();
