#pragma once

#include <functional>

#include "flushed_spaces.h"
#include "table_file.h"

namespace canopy::slots {

/// Reads a folder of slots, and changes nothing in it. A process that uses the folder meanwhile may write what is read:
/// reserve() it where that matters.
class FolderReader {
 public:
  /// Throws std::runtime_error with a sentence if the folder has no table that can be read.
  explicit FolderReader(const std::string& folder);

  const TableHead& head() const { return head_; }
  /// Calls `see` with each slot that has a record, in their order, but not with those that were flushed.
  void each(const std::function<void(Slot, const Entry&)>& see) const;
  /// Reads a slot. Returns how many of its bytes the file has. REQUIRES: record_bytes of room.
  std::size_t read(Slot slot, std::byte* record);

 private:
  std::string folder_;
  UniqueFd table_;
  TableHead head_;
  FlushedSpaces flushed_;
  Slot file_ = kNoSlot;  ///< the number of the file that is open
  UniqueFd slots_;
};

}  // namespace canopy::slots
