#pragma once

#include <nanobind/nanobind.h>

namespace canopy::python {

void bind_lab(nanobind::module_& module);

}  // namespace canopy::python
