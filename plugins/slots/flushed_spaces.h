#pragma once

#include <canopy/support/file.h>

#include <cstdint>
#include <map>
#include <string>

namespace canopy::slots {

/// Which namespaces were flushed, and up to which run: a file that only grows, and is synced before a flush returns, so
/// that no table and no record from before brings back what was flushed. A record does not say which namespace it is
/// of. So where no table tells it, a record is believed only if no flushed one can be left: after wiped().
class FlushedSpaces {
 public:
  /// Reads the file, if it is there, up to where it is damaged. Throws std::runtime_error if it cannot be read.
  explicit FlushedSpaces(std::string path);

  /// Makes the file shorter, where it has many lines for few spaces.
  void compact() const;

  /// No record of the space with a run up to this one is wanted. False: that could not be made to last.
  bool add(std::uint64_t space, std::uint64_t run);
  /// Whether a record was flushed. One whose space is unknown (0) counts as one of every space.
  bool covers(std::uint64_t space, std::uint64_t run) const;
  /// All slots that have no record were wiped since the last flush.
  void wiped();
  /// Whether a record that no table names may be one that was flushed.
  bool may_be_left() const { return may_be_left_; }
  /// The greatest run of all; 0: none.
  std::uint64_t newest() const { return newest_; }

 private:
  bool append(std::uint64_t space, std::uint64_t run);
  std::string path_;
  std::map<std::uint64_t, std::uint64_t> up_to_;  ///< run by space
  std::uint64_t newest_ = 0;
  bool may_be_left_ = false;
  std::size_t lines_ = 0;  ///< of the file
};

}  // namespace canopy::slots
