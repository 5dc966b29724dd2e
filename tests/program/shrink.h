#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "operation.h"

namespace canopy::program {

/// Returns the number of operations that the failure of a program needs, or nothing if it does not fail as the first
/// one did.
using Fails = std::function<std::optional<std::size_t>(const std::vector<Operation>&)>;

/// Returns a part of a failing program that still fails, with fewer words, fewer settings and smaller numbers. If the
/// time was enough, no operation of it can be left out.
std::vector<Operation> shrunk(std::vector<Operation> operations, const Fails& fails, double seconds);

}  // namespace canopy::program
