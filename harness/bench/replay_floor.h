#pragma once

#include <array>
#include <string>

#include "cases.h"
#include "clock.h"
#include "floor.h"
#include "replay_plan.h"

namespace canopy::bench {

/// The floor in four ways: 4 KiB or 2 MiB pages, plain stores or stores that go around the caches. The floor proper is
/// memcmp and memcpy with plain stores; the streaming stores show what the machine can do.
struct ReplayFloor {
  struct Way {
    FloorStyle style;
    const char* name;
    Repeated compare, copy, all;
  };
  std::array<Way, 4> ways{{{{false, false}, "4 KiB pages and plain stores", {}, {}, {}},
                           {{false, true}, "4 KiB pages and streaming stores", {}, {}, {}},
                           {{true, false}, "2 MiB pages and plain stores", {}, {}, {}},
                           {{true, true}, "2 MiB pages and streaming stores", {}, {}, {}}}};

  /// Compares and copies what the plan noted, once in each way.
  Result<std::monostate> take_turns(const Setting& setting, Units page_size, const ReplayPlan& plan);
  /// The way with the smallest median, with plain or with streaming stores. REQUIRES: take_turns() was called.
  const Way& best(bool streaming) const;
  /// All ways with their medians, in words.
  std::string tried() const;
};

}  // namespace canopy::bench
