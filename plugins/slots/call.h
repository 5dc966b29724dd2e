#pragma once

#include <canopy/page_storage.h>

#include <chrono>
#include <vector>

#include "device.h"
#include "slot_files.h"

namespace canopy::slots {

using Clock = std::chrono::steady_clock;

/// A call on its way: its records, where they lie, and the transfers that they need.
struct Call {
  enum class Kind { find, get, put };

  Kind kind = Kind::find;
  std::uint64_t ticket = 0;
  PageKey space;
  Clock::time_point until;
  std::uint32_t found = 0;
  bool flushed = false;  ///< its space, since it began

  // One for each record.
  std::vector<PageKey> keys;
  std::vector<std::byte*> memory;
  std::vector<Slot> slots;     ///< kNoSlot: nothing is moved
  std::vector<Fate> fates;     ///< done, until something else is known
  std::vector<char> unsure;    ///< a transfer of several records failed, of which this is one
  std::vector<char> has_head;  ///< get: the record must begin with its key

  std::vector<iovec> pieces;
  std::vector<Transfer> transfers;
  std::size_t begun = 0, ended = 0;  ///< transfers

  void reset(Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
             std::uint64_t within_us);
  /// Plans transfers for records that have slots: neighbours together, up to a piece of 1 MiB; larger records in such
  /// pieces. `unsure_only`: for those alone, and each by itself.
  void plan(const SlotFiles& files, std::uint32_t id, bool unsure_only);
  /// What a transfer's end says about its records. Returns the slot whose disk failed, or kNoSlot.
  Slot account(const Transfer& transfer);
  /// No further transfer begins; records that lack one are late.
  void stop();
  bool has_moved() const { return ended == begun && begun == transfers.size(); }
  bool is_unsure() const;
  Fate fate() const { return fate_of(fates); }
};

}  // namespace canopy::slots
