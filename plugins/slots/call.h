#pragma once

#include <canopy/page_storage.h>

#include <chrono>
#include <vector>

#include "device.h"
#include "slot_files.h"

namespace canopy::slots {

using Clock = std::chrono::steady_clock;

/// A pending call: its records, their memory and the transfers that they need.
struct Call {
  enum class Kind { find, find_each, get, put };

  Kind kind = Kind::find;
  std::uint64_t ticket = 0;
  PageKey space;
  Clock::time_point until;
  std::uint32_t found = 0;
  bool flushed = false;  ///< true if its space was flushed since the call began

  // One element per record.
  std::vector<PageKey> keys;
  std::vector<std::byte*> memory;
  std::vector<Slot> slots;     ///< kNoSlot: no transfer
  std::vector<Fate> fates;     ///< done until another result is known
  std::vector<char> unsure;    ///< true if a transfer of several records, including this one, failed
  std::vector<char> has_head;  ///< for a get: the record must begin with its key

  std::vector<iovec> pieces;
  std::vector<Transfer> transfers;
  std::size_t begun = 0, ended = 0;  ///< number of transfers

  void reset(Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
             std::uint64_t within_us);
  /// Plans transfers for records that have slots: neighbours together, in pieces of at most 1 MiB. A larger record is
  /// split into such pieces. `unsure_only`: only for the unsure records, one by one. An exception leaves no transfers,
  /// and the unsure records unsure.
  void plan(const SlotFiles& files, std::uint32_t id, bool unsure_only);
  /// Records the result of a transfer for its records. Returns the slot whose disk failed, or kNoSlot.
  Slot account(const Transfer& transfer);
  /// Prevents further transfers; records that still need one become late.
  void stop();
  bool has_moved() const { return ended == begun && begun == transfers.size(); }
  bool is_unsure() const;
  Fate fate() const { return fate_of(fates); }
};

}  // namespace canopy::slots
