#pragma once

#include <optional>
#include <vector>

#include "hold.h"

namespace canopy::python {

/// The result of an insert, made before it.
struct Added {
  Units length = 0, had = 0, slots_a_page = 1;
  std::vector<Page> spare;
  nb::object spare_slots;  ///< null: not asked for yet
};

/// Adds the whole pages of the tokens. Nothing is held afterwards. Returns an Added.
nb::object insert_from_root(nb::handle_t<Index> index, nb::handle tokens, nb::handle slots, nb::handle space,
                            std::int32_t priority);
/// Adds them below a hold, which then holds them too. See Hold.insert.
nb::object insert_below(Hold& hold, nb::handle ids, nb::handle slots, nb::handle space, std::int32_t priority,
                        bool chunked, Units inserted, std::size_t boundary, std::optional<std::size_t> limit);

void bind_insert(nb::module_& module);

}  // namespace canopy::python
