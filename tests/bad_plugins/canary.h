#pragma once

#include <cstdio>
#include <cstdlib>

/// Leaves a trace if the library is loaded.
struct Canary {
  Canary() {
    const char* trace = std::getenv("CANOPY_CANARY");
    if (trace == nullptr) return;
    if (std::FILE* file = std::fopen(trace, "w")) std::fclose(file);
  }
};
static const Canary kCanary;
