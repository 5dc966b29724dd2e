#pragma once

#include <canopy/prefix_index.h>
#include <nanobind/nanobind.h>

#include <functional>
#include <string>

namespace nb = nanobind;

namespace canopy::python {

/// Returns the nodes of an index as a dictionary of NumPy arrays, one row for each node, parents before children.
/// `visit` calls PrefixIndex::visit or IndexView::visit. O(tree).
nb::dict columns_of(const std::function<void(NodeVisitor&)>& visit, const std::function<std::string(NamespaceId)>& name_of);
/// Returns the nodes of a Python object that has `columns`, in a form of canopy.feed.tree.
nb::object tree_of(nb::object self, const std::string& form, std::size_t lines);

}  // namespace canopy::python
