#pragma once

#include <nanobind/nanobind.h>

namespace canopy::python {

/// Binds KeyMatcher: a match in the form that SGLang calls, without Python code between SGLang and the index. Its
/// parameters and its result are SGLang's own objects; this code uses only four attributes of them, and that the result
/// is a tuple.
void bind_key_matcher(nanobind::module_& module);

}  // namespace canopy::python
