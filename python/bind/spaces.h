#pragma once

#include <canopy/engine/request_spec.h>
#include <nanobind/nanobind.h>

#include <string_view>

namespace nb = nanobind;

namespace canopy::python {

/// Calls `intern` with a namespace in Python's form: None (the shared one), a name (a tenant), or a tuple (tenant,
/// adapter, salt) in which None means empty. Throws TypeError for anything else.
template <class Intern>
NamespaceId space_of(nb::handle space, Intern&& intern) {
  const auto text_of = [](nb::handle text) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!bytes) nb::raise_python_error();
    return std::string_view(bytes, static_cast<std::size_t>(size));
  };
  if (space.is_none()) return NamespaceId::shared;
  if (nb::isinstance<nb::str>(space)) return intern(Space{text_of(space), {}, {}});
  if (!nb::isinstance<nb::tuple>(space) || nb::len(space) > 3)
    throw nb::type_error("space: expected None, a name, or a tuple (tenant, adapter, salt)");
  nb::object parts[3];
  std::string_view texts[3];
  std::size_t i = 0;
  for (const nb::handle part : space) {
    if (!part.is_none()) texts[i] = text_of(parts[i] = nb::str(part));
    ++i;
  }
  return intern(Space{texts[0], texts[1], texts[2]});
}

}  // namespace canopy::python
