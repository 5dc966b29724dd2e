#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

namespace nb = nanobind;

namespace canopy::python {

/// Returns the values as a NumPy array that owns them.
template <class T>
nb::object column(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

/// Returns a column with the result of `value_of` for each item.
template <class Items, class ValueOf>
nb::object column(const Items& items, ValueOf&& value_of) {
  std::vector<std::decay_t<decltype(value_of(*items.begin()))>> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(value_of(item));
  return column(std::move(values));
}

}  // namespace canopy::python
