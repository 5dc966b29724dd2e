#pragma once

#include <cstdint>
#include <functional>

#include "program.h"

namespace canopy::check {

/// Returns true if a program fails as the first one did.
using Fails = std::function<bool(const Program&)>;

/// Returns a part of a program that still fails, with shorter prompts and smaller numbers. If the time was enough, no
/// operation of it can be left out.
Program shrunk(Program program, const Fails& fails, double seconds);

}  // namespace canopy::check
