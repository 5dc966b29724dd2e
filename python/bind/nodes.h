#pragma once

#include <canopy/prefix_index.h>
#include <nanobind/nanobind.h>

#include <functional>
#include <string>

namespace nb = nanobind;

namespace canopy::python {

/// The nodes of an index as columns: a dictionary of NumPy arrays, a row a node, parents before children. O(tree).
nb::dict columns_of(const PrefixIndex& index, const std::function<std::string(NamespaceId)>& name_of);
/// The nodes of a Python object that has `columns`, as canopy.feed.tree draws them.
nb::object tree_of(nb::object self, const std::string& form, std::size_t lines);

}  // namespace canopy::python
