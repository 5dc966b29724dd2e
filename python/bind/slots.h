#pragma once

#include <canopy/types.h>

#include <memory>
#include <span>

#include "integers.h"

namespace canopy::python {

/// Engines count in slots, one for each token: the slot of token i of a page is page * page_size + i. The index counts
/// in pages.

/// Returns the pages of the first `count` * `page` slots. Throws ValueError if there are fewer, if those of a page are
/// not consecutive from a multiple of the page size, or if one is in page 0, which is never handed out.
std::span<const Page> pages_of(const Integers& slots, Units page, std::size_t count, Scratch<Page>& into);

/// The slots of pages as an object with a buffer of int64, which torch.frombuffer accepts without a NumPy array.
struct SlotBuffer {
  std::unique_ptr<std::int64_t[]> slots;
  Py_ssize_t count = 0;  ///< a Py_ssize_t because the buffer's shape points to it
};
SlotBuffer buffer_of(std::span<const Page> pages, Units page);
void bind_slots(nb::module_& module);

/// Returns the slots of pages as a NumPy array of int64.
nb::object slots_of(std::span<const Page> pages, Units page);

}  // namespace canopy::python
