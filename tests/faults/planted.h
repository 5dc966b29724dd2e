#pragma once

#include <cstdlib>

/// Which of the planted faults is switched on: its number in planted_list.h, 0 for none. What PLANTED stands for in
/// a .fault file compares with it.
inline const int canopy_planted = [] {
  const char* number = std::getenv("CANOPY_PLANTED");
  return number ? std::atoi(number) : 0;
}();
