#pragma once

#include <nanobind/nanobind.h>

namespace canopy::python {

void bind_replay(nanobind::module_& module);

}  // namespace canopy::python
