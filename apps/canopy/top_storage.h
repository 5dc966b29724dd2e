#pragma once

#include <mirror/mirror.h>

#include "terminal.h"

namespace canopy::app {

/// The storage below the host tier: a line for it, one for each lane, one for what was brought. Nothing if there is
/// none.
void add_storage(const inspector::Mirror& mirror, Table& table);

}  // namespace canopy::app
