#pragma once

#include <canopy/feed/counters.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace canopy {

/// The part of a path that is read from the storage into the host tier. Several fetches may wait for one read: prompts
/// that differ later ask for the same pages.
struct StorageRead {
  enum class Stage : std::uint8_t {
    asking,    ///< the storage counts the pages that it has in the groups of whole paths
    choosing,  ///< the storage looks up, group by group, which pages of windows and states it has
    reading,   ///< pages of the host tier are taken, and the storage fills them
    done       ///< nothing more arrives. Pages of calls that have not ended stay `moving` until they have
  };
  Stage stage = Stage::asking;
  std::uint64_t job = 0;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::vector<std::uint32_t> words;  ///< words of the path
  std::size_t first = 0, end = 0;    ///< pages: a boundary of a tier above, and the one to be reached at most
  std::size_t whole = 0;             ///< first page that groups of whole paths lack. The host tier has those before it
  std::size_t group = 0;             ///< choosing: group that is looked up, or that is next
  Lock lock{};                       ///< lock on the part of the path that the host tier has
  std::array<std::size_t, kMaxGroups> at{};           ///< reading: page of the path at which `pages` begin
  std::array<std::vector<Page>, kMaxGroups> pages{};  ///< reading: pages up to `end`
  std::array<std::vector<bool>, kMaxGroups> valid{};  ///< reading: the record has arrived and is valid
  std::array<std::vector<bool>, kMaxGroups> found{};  ///< choosing: pages from `first` on that this rank's storage has
  std::size_t open = 0;                               ///< pending calls
  BringOutcome outcome = BringOutcome::whole;         ///< reason for which it is not whole
  std::uint64_t ends_us = 0, late_us = 0;             ///< end and time limit of the pending calls
  bool unwanted = false;                              ///< its namespace was flushed since
  bool lost = false;                                  ///< a call never ended
  bool anyway = false;                                ///< it is made though it does not seem worthwhile (SeenRate)
  std::shared_ptr<StorageRead> instead;               ///< done: the read that brings the same; null (none)
  Units from = 0, until = 0;                          ///< units that it added to the host tier, once it is done

  bool done() const { return stage == Stage::done; }
};

}  // namespace canopy
