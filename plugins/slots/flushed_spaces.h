#pragma once

#include <canopy/base/file.h>

#include <cstdint>
#include <map>
#include <string>

namespace canopy::slots {

/// Namespaces that were flushed, each with the last run that the flush covers. Each flush is appended to a file and
/// synced before it returns, so that no older table or record restores what was flushed. A record does not contain its
/// namespace. Therefore a record that is in no table counts as valid only when no flushed record can remain: after
/// wiped().
class FlushedSpaces {
 public:
  /// Reads the file, if it exists, up to the first damaged line. Throws std::runtime_error if it cannot be read.
  explicit FlushedSpaces(std::string path);

  /// Compacts the file if it has many lines for few spaces.
  void compact();

  /// Flushes the space's records of runs up to `run`. Returns false if that could not be made durable.
  bool add(std::uint64_t space, std::uint64_t run);
  /// Returns true if a record was flushed. A record of an unknown space (0) matches every space.
  bool covers(std::uint64_t space, std::uint64_t run) const;
  /// Records that all slots without a record were wiped since the last flush.
  void wiped();
  /// Returns true if a record that is in no table may be a flushed one.
  bool may_be_left() const { return may_be_left_; }
  /// Returns the greatest flushed run; 0 if there is none.
  std::uint64_t newest() const { return newest_; }

 private:
  bool append(std::uint64_t space, std::uint64_t run);
  std::string path_;
  std::map<std::uint64_t, std::uint64_t> up_to_;  ///< run by space
  std::uint64_t newest_ = 0;
  bool may_be_left_ = false;
  bool has_entry_ = false;  ///< the file's entry in its folder is on the disk
  std::size_t lines_ = 0;   ///< lines of the file before the first damaged one
};

}  // namespace canopy::slots
