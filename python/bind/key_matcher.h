#pragma once

#include <nanobind/nanobind.h>

namespace canopy::python {

/// KeyMatcher: a match as SGLang asks for one, without Python between SGLang and the index. Its parameters and its
/// result are SGLang's own objects; all that is known of them here are four attributes and that the result is a tuple.
void bind_key_matcher(nanobind::module_& module);

}  // namespace canopy::python
