#pragma once

#include <lab/curve_json.h>

#include "terminal.h"

namespace canopy::app {

/// Curves as a table, and what they say in sentences.
void print(const lab::Curves& curves, const Terminal& terminal);

}  // namespace canopy::app
