#pragma once

#include <canopy/engine/spaces.h>
#include <canopy/prefix_index.h>
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace canopy::python {

/// The nodes of an index as columns: a dictionary of NumPy arrays, a row a node, parents before children. O(tree).
nb::dict columns_of(const PrefixIndex& index, const Spaces& spaces);

}  // namespace canopy::python
