#pragma once

#include <canopy/feed/counters.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>

#include <array>
#include <cstdint>
#include <vector>

namespace canopy {

/// The part of a path that is read from the storage into the host tier. Several fetches may wait for one read: prompts
/// that differ later ask for the same pages.
struct StorageRead {
  enum class Stage : std::uint8_t {
    asking,   ///< the storage looks up which of the pages it has
    reading,  ///< pages of the host tier are taken, and the storage fills them
    done      ///< nothing more arrives. Pages of calls that have not ended stay `moving` until they have
  };
  Stage stage = Stage::asking;
  std::uint64_t job = 0;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::vector<std::uint32_t> words;  ///< words of the path
  std::size_t first = 0, end = 0;    ///< pages: its first page, and its end at most
  Lock lock{};                       ///< lock on the part of the path that the host tier has
  std::array<std::vector<Page>, kMaxGroups> pages{};
  std::array<std::vector<bool>, kMaxGroups> valid{};  ///< the record has arrived and is valid
  std::size_t open = 0;                               ///< pending calls
  BringOutcome outcome = BringOutcome::whole;         ///< reason for which it is not whole
  std::uint64_t ends_us = 0, late_us = 0;             ///< end and time limit of the pending calls
  bool unwanted = false;                              ///< its namespace was flushed since
  bool lost = false;                                  ///< a call never ended
  Units from = 0, until = 0;                          ///< units that it added to the host tier, once it is done

  bool done() const { return stage == Stage::done; }
};

}  // namespace canopy
