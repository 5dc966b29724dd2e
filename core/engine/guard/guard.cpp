#include "guard/guard.h"

#include <fmt/format.h>

namespace canopy {

void Guard::wrong(const char* function, std::string_view what) const {
  ledger_.violated(fmt::format("{}, {}: {}", component_, function, what));
}

void Guard::threw(const char* function, const char* what) const {
  wrong(function, fmt::format("it threw: {}", what));
  failed();
}

}  // namespace canopy
