#pragma once

#include <check/random_operations.h>

namespace canopy::test {

using check::RandomRequests;
using check::Reached;

}  // namespace canopy::test
