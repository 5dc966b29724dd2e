#pragma once
/// The keys of vLLM's chunks, and the other numbers that it gives: a key is bytes, a hash of all tokens up to the end
/// of the chunk and 4 bytes with the number of the KV cache group. Each function raises an exception for anything else.

#include <canopy/types.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace canopy::python {

namespace nb = nanobind;

inline constexpr std::size_t kGroupBytes = 4;

/// Returns the bytes of a key, which lie in the key's object.
inline std::string_view bytes_of(nb::handle key) {
  if (!PyBytes_Check(key.ptr())) throw nb::type_error("a key of vLLM must be bytes");
  return {PyBytes_AS_STRING(key.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(key.ptr()))};
}

/// Returns the number of a key's KV cache group.
inline std::uint32_t group_of(std::string_view key) {
  if (key.size() < kGroupBytes) throw nb::value_error("a key of vLLM ends with the 4 bytes of its group");
  std::uint32_t group = 0;
  for (const char byte : key.substr(key.size() - kGroupBytes)) group = group << 8 | static_cast<unsigned char>(byte);
  return group;
}

/// Returns the first 8 bytes of a hash, and a group mixed into them.
inline std::uint64_t print_of(std::string_view hash, std::uint32_t group) {
  std::uint64_t print = 0;
  std::memcpy(&print, hash.data(), std::min(sizeof(print), hash.size()));
  return print ^ std::uint64_t{group} << 56;
}
/// The same of a key.
inline std::uint64_t print_of(std::string_view key) { return print_of(key, group_of(key)); }

/// Returns the position at which a chunk ends, in tokens.
inline Units tokens_of(PyObject* number) {
  const unsigned long tokens = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred()) nb::raise_python_error();
  if (tokens == 0 || tokens > UINT32_MAX) throw nb::value_error("a chunk ends at a position from 1 to 2**32 - 1");
  return static_cast<Units>(tokens);
}

/// Returns an attribute that is a number.
inline long number_of(nb::handle object, PyObject* name) {
  const nb::object value = nb::steal(PyObject_GetAttr(object.ptr(), name));
  if (!value.is_valid()) nb::raise_python_error();
  const long number = PyLong_AsLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) nb::raise_python_error();
  return number;
}

}  // namespace canopy::python
