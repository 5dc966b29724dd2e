#pragma once

#include <nanobind/nanobind.h>

#include <new>
#include <utility>

namespace nb = nanobind;

namespace canopy::python {

/// Returns a C++ object as a Python object, constructed in place: such objects are made and destroyed in each call, or
/// are made before what they will have can be lost.
template <class T, class... From>
nb::object made(From&&... from) {
  static const nb::handle type = nb::type<T>();
  nb::object object = nb::inst_alloc(type);
  ::new (static_cast<void*>(nb::inst_ptr<T>(object))) T{std::forward<From>(from)...};
  nb::inst_mark_ready(object);
  return object;
}

/// Returns the C++ object of a Python object of its type. Throws TypeError if it was not made: a class of Python that
/// extends the type need not call its __init__.
template <class T>
T& made_by(nb::handle object) {
  if (!nb::inst_ready(object)) throw nb::type_error("this object was not made: its class must call super().__init__()");
  return *nb::inst_ptr<T>(object);
}

}  // namespace canopy::python
