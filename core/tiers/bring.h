#pragma once

#include <canopy/feed/counters.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>

#include <array>
#include <cstdint>
#include <vector>

namespace canopy {

/// A part of a path that is being brought from the storage to the host tier.
struct Bring {
  std::uint64_t job = 0;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::vector<std::uint32_t> words;  ///< words of the path
  std::size_t first = 0, end = 0;    ///< pages: its first page, and its end at most
  Lock lock{};                       ///< lock on the part of the path that the host tier has
  std::array<std::vector<Page>, kMaxGroups> pages{};
  std::array<std::vector<bool>, kMaxGroups> right{};  ///< the record has arrived and is valid
  std::size_t open = 0;                               ///< pending calls
  BringOutcome why = BringOutcome::whole;             ///< reason for which it is not whole
  std::uint64_t ends_us = 0, late_us = 0;             ///< end and time limit of the pending calls
  bool gets = false;                                  ///< the storage is sending records; before, it is looking them up
  bool unwanted = false;                              ///< its namespace was flushed since
  bool lost = false;                                  ///< a call never ended
  bool over = false;                                  ///< it has ended: nothing arrives any longer
  Units from = 0, until = 0;                          ///< units that it added to the host tier, once it is over
};

}  // namespace canopy
