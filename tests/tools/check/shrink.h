#pragma once

#include <cstdint>
#include <functional>

#include "program.h"

namespace canopy::check {

/// Whether a program fails as the first one did.
using Fails = std::function<bool(const Program&)>;

/// A part of a program that still fails, with shorter prompts and smaller numbers: no operation of it can be left out,
/// if the time was enough.
Program shrunk(Program program, const Fails& fails, double seconds);

}  // namespace canopy::check
