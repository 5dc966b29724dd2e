#pragma once

#include <canopy/engine/tier_figures.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>

#include <array>
#include <cstdint>
#include <vector>

namespace canopy {

/// A part of a path on its way from the storage to the host tier.
struct Bring {
  std::uint64_t job = 0;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::vector<std::uint32_t> words;  ///< of the path
  std::size_t first = 0, end = 0;    ///< pages: where it begins, and ends at most
  Lock lock{};                       ///< on what the host tier has of the path
  std::array<std::vector<Page>, kMaxGroups> pages{};
  std::array<std::vector<bool>, kMaxGroups> right{};  ///< the record has come, and is right
  std::size_t open = 0;                               ///< calls on their way
  BringOutcome why = BringOutcome::whole;             ///< what keeps it from being whole
  std::uint64_t ends_us = 0, late_us = 0;             ///< of the calls on their way
  bool gets = false;                                  ///< records come; until then it is asked what there is
  bool unwanted = false;                              ///< its namespace was flushed since
  bool lost = false;                                  ///< a call never ends
  bool over = false;                                  ///< nothing more comes of it
  Units from = 0, until = 0;                          ///< once it is over: the units that the host tier has by it
};

}  // namespace canopy
