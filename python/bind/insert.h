#pragma once

#include <optional>

#include "hold.h"

namespace canopy::python {

/// The result of an insert.
struct Added {
  Units length = 0, had = 0;
  nb::object spare;
};

/// Adds the whole pages of the tokens. Nothing is held afterwards.
Added insert_from_root(nb::handle_t<Index> index, nb::handle tokens, nb::handle slots, nb::handle space,
                       std::int32_t priority);
/// Adds them below a hold, which then holds them too. See Hold.insert.
Added insert_below(Hold& hold, nb::handle ids, nb::handle slots, nb::handle space, std::int32_t priority, bool chunked,
                   Units inserted, std::size_t boundary, std::optional<std::size_t> limit);

void bind_insert(nb::module_& module);

}  // namespace canopy::python
