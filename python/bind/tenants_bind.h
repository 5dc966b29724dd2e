#pragma once

#include "engine.h"

namespace canopy::python {

void bind_retention(nb::module_& module);
/// Adds set_share, tenants and payments to an engine.
void bind_tenants(nb::class_<PyEngine>& engine);

}  // namespace canopy::python
