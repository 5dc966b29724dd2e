#pragma once

#include <lab/curve_json.h>

#include "terminal.h"

namespace canopy::app {

/// Prints curves as a table, and conclusions as sentences.
void print(const lab::Curves& curves, const Terminal& terminal);

}  // namespace canopy::app
