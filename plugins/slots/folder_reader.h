#pragma once

#include <functional>

#include "flushed_spaces.h"
#include "table_file.h"

namespace canopy::slots {

/// Reads a folder of slots without changing it. Another process may write during a read: call reserve() where that
/// matters.
class FolderReader {
 public:
  /// Throws std::runtime_error if the folder has no readable table.
  explicit FolderReader(const std::string& folder);

  const TableHead& head() const { return head_; }
  /// Calls `see` for each slot that has a record, in order of slots. Skips flushed records.
  void each(const std::function<void(Slot, const Entry&)>& see) const;
  /// Reads a slot. Returns the number of its bytes that the file has. REQUIRES: room for record_bytes.
  std::size_t read(Slot slot, std::byte* record);

 private:
  std::string folder_;
  UniqueFd table_;
  TableHead head_;
  FlushedSpaces flushed_;
  Slot file_ = kNoSlot;  ///< number of the open file
  UniqueFd slots_;
};

}  // namespace canopy::slots
