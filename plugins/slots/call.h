#pragma once

#include <canopy/helpers/async_calls.h>

#include <vector>

#include "device.h"
#include "slot_files.h"

namespace canopy::slots {

/// A call and the transfers that it needs. The fates of its records are `done` until another result is known.
struct Call : AsyncCall {
  // One element per record.
  std::vector<Slot> slots;     ///< kNoSlot: no transfer
  std::vector<char> unsure;    ///< true if a transfer of several records, including this one, failed
  std::vector<char> has_head;  ///< for a get: the record must begin with its key

  std::vector<iovec> pieces;
  std::vector<Transfer> transfers;
  std::size_t begun = 0, ended = 0;  ///< number of transfers

  /// Begins without slots and transfers.
  void reset();
  /// Plans transfers for records that have slots: neighbours together, in pieces of at most 1 MiB. A larger record is
  /// split into such pieces. `unsure_only`: only for the unsure records, one by one. An exception leaves no transfers,
  /// and the unsure records unsure.
  void plan(const SlotFiles& files, bool unsure_only);
  /// Records the result of a transfer for its records. Returns the slot whose disk failed, or kNoSlot.
  Slot account(const Transfer& transfer);
  /// Prevents further transfers; records that still need one become late.
  void stop();
  bool has_moved() const { return ended == begun && begun == transfers.size(); }
  bool is_unsure() const;
};

}  // namespace canopy::slots
