#include "slots.h"

#include <nanobind/ndarray.h>

#include <bit>
#include <memory>
#include <string>

#include "wide.h"

namespace canopy::python {
namespace {

/// Returns true if each page is `page` consecutive slots that begin at a multiple of `page`, up to page 2^32 - 1.
template <class T>
inline __attribute__((always_inline)) bool narrow_slots(const T* slots, std::size_t count, Units page, Page* to) {
  std::uint64_t wrong = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const T* const from = slots + p * page;
    const auto first = static_cast<std::uint64_t>(static_cast<std::int64_t>(from[0]));
    const std::uint64_t number = std::has_single_bit(page) ? first >> std::countr_zero(page) : first / page;
    for (Units i = 0; i < page; ++i)
      wrong |= static_cast<std::uint64_t>(static_cast<std::int64_t>(from[i])) - (first + i);
    wrong |= (first - number * page) | number >> 32 | (number == 0);
    to[p] = static_cast<Page>(number);
  }
  return wrong == 0;
}

/// Does the same for pages of one token, without a division.
template <class T>
inline __attribute__((always_inline)) bool narrow_single(const T* slots, std::size_t count, Page* to) {
  std::uint64_t seen = 0, zero = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto slot = static_cast<std::uint64_t>(static_cast<std::int64_t>(slots[i]));
    seen |= slot;
    zero |= (slot - 1) & ~slot;  // the top bit: slot is 0
    to[i] = static_cast<Page>(slot);
  }
  return seen >> 32 == 0 && zero >> 63 == 0;
}

CANOPY_WIDE bool narrow(const std::int64_t* slots, std::size_t count, Units page, Page* to) {
  return page == 1 ? narrow_single(slots, count, to) : narrow_slots(slots, count, page, to);
}
CANOPY_WIDE bool narrow(const std::int32_t* slots, std::size_t count, Units page, Page* to) {
  return page == 1 ? narrow_single(slots, count, to) : narrow_slots(slots, count, page, to);
}
CANOPY_WIDE bool narrow(const std::uint32_t* slots, std::size_t count, Units page, Page* to) {
  return page == 1 ? narrow_single(slots, count, to) : narrow_slots(slots, count, page, to);
}

/// Writes eight slots at once if the page size is a multiple of eight: otherwise compilers vectorise over pages, and
/// shuffle.
CANOPY_WIDE void widen(const Page* pages, std::size_t count, Units page, std::int64_t* to) {
  using Eight = std::int64_t __attribute__((vector_size(64)));
  constexpr Units kEight = 8;
  if (page == 1) {
    for (std::size_t i = 0; i < count; ++i) to[i] = pages[i];
    return;
  }
  if (page % kEight != 0) {
    for (std::size_t p = 0; p < count; ++p)
      for (Units i = 0; i < page; ++i) *to++ = std::int64_t{pages[p]} * page + i;
    return;
  }
  for (std::size_t p = 0; p < count; ++p) {
    Eight slots = Eight{0, 1, 2, 3, 4, 5, 6, 7} + std::int64_t{pages[p]} * page;
    for (const std::int64_t* const end = to + page; to != end; to += kEight, slots += kEight)
      __builtin_memcpy(to, &slots, sizeof slots);
  }
}

}  // namespace

std::span<const Page> pages_of(const Integers& slots, Units page, std::size_t count, Scratch<Page>& into) {
  if (slots.size() < count * page)
    throw nb::value_error(("slots: " + std::to_string(count * page) +
                           " are needed, one for each token of each whole page; " + std::to_string(slots.size()) +
                           " were given")
                              .c_str());
  into.values.resize(count);
  bool fit = false;
  switch (slots.kind()) {
    case Integers::Kind::i64:
      fit = narrow(slots.as<std::int64_t>(), count, page, into.values.data());
      break;
    case Integers::Kind::i32:
      fit = narrow(slots.as<std::int32_t>(), count, page, into.values.data());
      break;
    case Integers::Kind::u32:
      fit = narrow(slots.as<std::uint32_t>(), count, page, into.values.data());
      break;
  }
  if (!fit)
    throw nb::value_error(("slots: each page must be " + std::to_string(page) +
                           " slots in a row from a multiple of that, and none may be in page 0, the padding sink")
                              .c_str());
  return into.values;
}

SlotBuffer buffer_of(std::span<const Page> pages, Units page) {
  SlotBuffer buffer;
  buffer.count = static_cast<Py_ssize_t>(pages.size() * page);
  buffer.slots = std::make_unique_for_overwrite<std::int64_t[]>(pages.size() * page);
  widen(pages.data(), pages.size(), page, buffer.slots.get());
  return buffer;
}

nb::object slots_of(std::span<const Page> pages, Units page) {
  SlotBuffer buffer = buffer_of(pages, page);
  std::int64_t* const data = buffer.slots.release();
  const nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<std::int64_t*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(data, {pages.size() * page}, owner));
}

/// Implements the buffer protocol: int64 in one dimension.
static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (!nb::inst_ready(nb::handle(self))) {
    PyErr_SetString(PyExc_TypeError, "this object was not made");
    return -1;
  }
  auto& buffer = *nb::inst_ptr<SlotBuffer>(nb::handle(self));
  static Py_ssize_t step = sizeof(std::int64_t);
  if (PyBuffer_FillInfo(view, self, buffer.slots.get(), buffer.count * step, 0, flags) != 0) return -1;
  view->itemsize = step;
  if (view->format) view->format = const_cast<char*>("q");
  if (view->shape) view->shape = &buffer.count;
  if (view->strides) view->strides = &step;
  return 0;
}
static Py_ssize_t length_of(PyObject* self) {
  if (!nb::inst_ready(nb::handle(self))) return 0;
  return nb::inst_ptr<SlotBuffer>(nb::handle(self))->count;
}

void bind_slots(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_sq_length, reinterpret_cast<void*>(length_of)},
                                {0, nullptr}};
  nb::class_<SlotBuffer>(module, "SlotBuffer", nb::type_slots(slots), nb::pooled(),
                         "int64 slots with the buffer protocol, for torch.frombuffer. It owns its memory.");
}

}  // namespace canopy::python
