#pragma once

#include <canopy/engine/request_spec.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

namespace nb = nanobind;

namespace canopy::python {

/// The bytes of a text. A name from a client may have half of a surrogate pair, which is no UTF-8 but names a namespace
/// as well as any other text.
struct Utf8 {
  explicit Utf8(nb::handle text) {
    Py_ssize_t size = 0;
    const char* start = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!start && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
      PyErr_Clear();
      encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
      if (encoded.is_valid()) start = PyBytes_AS_STRING(encoded.ptr()), size = PyBytes_GET_SIZE(encoded.ptr());
    }
    if (!start) nb::raise_python_error();
    bytes = {start, static_cast<std::size_t>(size)};
  }
  std::string_view bytes;  ///< valid as long as the text and this object
  nb::object encoded;      ///< null: the text has the bytes
};

/// Returns text for Python. Bytes that are no UTF-8 are replaced by marks.
inline nb::object shown(std::string_view text) {
  nb::object made = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!made.is_valid()) nb::raise_python_error();
  return made;
}

/// Calls `call` with a namespace in Python's form: None (the shared one), a name (a tenant), or a tuple (tenant,
/// adapter, salt) in which None means empty. Throws TypeError for anything else.
template <class Call>
auto with_space(nb::handle space, Call&& call) {
  if (space.is_none()) return call(Space{});
  if (nb::isinstance<nb::str>(space)) return call(Space{Utf8(space).bytes, {}, {}});
  if (!nb::isinstance<nb::tuple>(space) || nb::len(space) > 3)
    throw nb::type_error("space: expected None, a name, or a tuple (tenant, adapter, salt)");
  nb::object parts[3];
  std::optional<Utf8> texts[3];
  std::string_view bytes[3];
  std::size_t i = 0;
  for (const nb::handle part : space) {
    if (!part.is_none()) bytes[i] = texts[i].emplace(parts[i] = nb::str(part)).bytes;
    ++i;
  }
  return call(Space{bytes[0], bytes[1], bytes[2]});
}

}  // namespace canopy::python
