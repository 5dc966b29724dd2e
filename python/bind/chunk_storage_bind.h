#pragma once

#include <nanobind/nanobind.h>

namespace canopy::python {

void bind_chunk_storage(nanobind::module_& module);

}  // namespace canopy::python
