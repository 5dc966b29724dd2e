#include "integers.h"

#include <nanobind/ndarray.h>

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "wide.h"

namespace canopy::python {
namespace {

/// Narrows the values. Returns false if one does not fit.
CANOPY_WIDE bool narrow_all(const std::int64_t* from, std::size_t count, Token* to) {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint64_t>(from[i]);
    seen |= value;
    to[i] = static_cast<Token>(value);
  }
  return seen >> 32 == 0;
}

CANOPY_WIDE bool none_negative(const std::int32_t* from, std::size_t count) {
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < count; ++i) seen |= static_cast<std::uint32_t>(from[i]);
  return seen >> 31 == 0;
}

std::string type_of(nb::handle object) { return nb::type_name(object.type()).c_str(); }

/// Returns the value of an int. Makes no call if it has one digit, as token ids do.
inline std::int64_t value_of(PyObject* item, const char* what) {
  if (PyLong_CheckExact(item)) {
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact(reinterpret_cast<PyLongObject*>(item)))
      return PyUnstable_Long_CompactValue(reinterpret_cast<PyLongObject*>(item));
#else
    const auto* const number = reinterpret_cast<PyLongObject*>(item);
    const Py_ssize_t size = Py_SIZE(number);
    if (size == 1) return number->ob_digit[0];
    if (size == 0) return 0;
#endif
  }
  if (PyFloat_Check(item) || !PyIndex_Check(item))
    throw nb::type_error((std::string(what) + " must be integers, not " + type_of(item)).c_str());
  const nb::object index = nb::steal(PyNumber_Index(item));
  if (!index.is_valid()) nb::raise_python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) throw nb::value_error((std::string(what) + ": an integer is beyond 64 bits").c_str());
  return value;
}

}  // namespace

Integers::Integers(nb::handle from, const char* what) : what_(what) {
  if (PyList_CheckExact(from.ptr()) || PyTuple_CheckExact(from.ptr())) {
    read_items(from);
  } else if (PyObject_CheckBuffer(from.ptr()) && read_buffer(from)) {
  } else if (PySequence_Check(from.ptr()) && !PyUnicode_Check(from.ptr()) && !nb::hasattr(from, "__dlpack__")) {
    const nb::object list = nb::steal(PySequence_List(from.ptr()));
    if (!list.is_valid()) nb::raise_python_error();
    read_items(list);
  } else {
    read_tensor(from);
  }
}

void Integers::read_items(nb::handle from) {
  const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(from.ptr()));
  own_.values.resize(size);
  // An item's __index__ may change the list, so the size is read again each time.
  for (std::size_t i = 0; i < size; ++i) {
    if (i >= static_cast<std::size_t>(PySequence_Fast_GET_SIZE(from.ptr())))
      throw nb::value_error((std::string(what_) + ": the list became shorter while it was read").c_str());
    own_.values[i] = value_of(PySequence_Fast_GET_ITEM(from.ptr(), static_cast<Py_ssize_t>(i)), what_);
  }
  take(own_.values.data(), size, sizeof(std::int64_t), true, sizeof(std::int64_t));
}

bool Integers::read_buffer(nb::handle from) {
  if (PyObject_GetBuffer(from.ptr(), &buffer_.view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();  // a buffer of another shape; it may still be a tensor
    buffer_.view.obj = nullptr;
    return false;
  }
  const Py_buffer& view = buffer_.view;
  const std::string_view format = view.format ? view.format : "B";
  const char kind = format.back();
  const bool native =
      format.size() == 1 || (format.size() == 2 && (format[0] == '@' || format[0] == '<' || format[0] == '='));
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN";
  const bool is_signed = kSigned.find(kind) != std::string_view::npos;
  if (!native || (!is_signed && kUnsigned.find(kind) == std::string_view::npos))
    throw nb::type_error(
        (std::string(what_) + " must be integers, not of the buffer format '" + std::string(format) + "'").c_str());
  if (view.ndim != 1)
    throw nb::value_error((std::string(what_) + " must have 1 dimension, not " + std::to_string(view.ndim)).c_str());
  take(view.buf, static_cast<std::size_t>(view.shape[0]), view.strides[0], is_signed,
       static_cast<std::size_t>(view.itemsize));
  return true;
}

void Integers::read_tensor(nb::handle from) {
  using Tensor = nb::ndarray<nb::ro>;
  Tensor tensor;
  if (PyUnicode_Check(from.ptr()) || !nb::try_cast<Tensor>(from, tensor))
    throw nb::type_error(
        (std::string(what_) + " must be a list, an array, a NumPy array or a tensor of integers, not " + type_of(from))
            .c_str());
  if (tensor.device_type() != nb::device::cpu::value)
    throw nb::type_error((std::string(what_) + " must be on the CPU: pass tensor.cpu()").c_str());
  if (tensor.ndim() != 1)
    throw nb::value_error(
        (std::string(what_) + " must have 1 dimension, not " + std::to_string(tensor.ndim())).c_str());
  const nb::dlpack::dtype type = tensor.dtype();
  const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
  if ((code != nb::dlpack::dtype_code::Int && code != nb::dlpack::dtype_code::UInt) || type.lanes != 1)
    throw nb::type_error((std::string(what_) + " must be integers, not floating point or others").c_str());
  tensor_ = nb::cast(tensor);
  take(tensor.data(), tensor.shape(0), tensor.stride(0) * (type.bits / 8), code == nb::dlpack::dtype_code::Int,
       type.bits / 8U);
}

template <class T>
void Integers::gather(const void* data, std::ptrdiff_t stride) {
  own_.values.resize(size_);
  const auto* at = static_cast<const std::byte*>(data);
  for (std::size_t i = 0; i < size_; ++i, at += stride) {
    T value;
    __builtin_memcpy(&value, at, sizeof(T));
    if (std::is_same_v<T, std::uint64_t> && value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
      throw nb::value_error((std::string(what_) + ": an integer is beyond 63 bits").c_str());
    own_.values[i] = static_cast<std::int64_t>(value);
  }
  data_ = own_.values.data();
  kind_ = Kind::i64;
}

void Integers::take(const void* data, std::size_t size, std::ptrdiff_t stride, bool is_signed, std::size_t bytes) {
  data_ = data;
  size_ = size;
  const bool apart = size > 1 && stride != static_cast<std::ptrdiff_t>(bytes);
  const bool crooked = reinterpret_cast<std::uintptr_t>(data) % (bytes ? bytes : 1) != 0;
  if (bytes == 8 && is_signed && !apart && !crooked) return void(kind_ = Kind::i64);
  if (bytes == 4 && !apart && !crooked) return void(kind_ = is_signed ? Kind::i32 : Kind::u32);
  switch (bytes) {
    case 1:
      return is_signed ? gather<std::int8_t>(data, stride) : gather<std::uint8_t>(data, stride);
    case 2:
      return is_signed ? gather<std::int16_t>(data, stride) : gather<std::uint16_t>(data, stride);
    case 4:
      return is_signed ? gather<std::int32_t>(data, stride) : gather<std::uint32_t>(data, stride);
    case 8:
      return is_signed ? gather<std::int64_t>(data, stride) : gather<std::uint64_t>(data, stride);
    default:
      throw nb::type_error((std::string(what_) + " must be integers of 1, 2, 4 or 8 bytes").c_str());
  }
}

Tokens::Tokens(nb::handle ids, std::optional<std::size_t> limit) : ids_(ids, "token ids") {
  if (limit) ids_.cut(*limit);
  bool fit = true;
  if (ids_.kind() == Integers::Kind::i64) {
    own_.values.resize(ids_.size());
    fit = narrow_all(ids_.as<std::int64_t>(), ids_.size(), own_.values.data());
    tokens_ = own_.values;
  } else {
    if (ids_.kind() == Integers::Kind::i32) fit = none_negative(ids_.as<std::int32_t>(), ids_.size());
    tokens_ = {ids_.as<Token>(), ids_.size()};
  }
  if (!fit) throw UnfitKey("token ids must be from 0 to 4294967295; one is not");
}

}  // namespace canopy::python
