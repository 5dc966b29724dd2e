#pragma once

#include <canopy/base/own_fd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::slots {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

/// Positions of slots in files. Each file has the slots that fit into 16 GiB; the last file has fewer.
struct Shape {
  std::uint64_t record_bytes = 0;
  Slot slots = 0;

  Slot slots_a_file() const {
    constexpr std::uint64_t kFileBytes = std::uint64_t{16} << 30;
    return static_cast<Slot>(record_bytes < kFileBytes ? kFileBytes / record_bytes : 1);
  }
  Slot file_of(Slot slot) const { return slot / slots_a_file(); }
  std::uint64_t offset_of(Slot slot) const { return std::uint64_t{slot % slots_a_file()} * record_bytes; }
};

/// The open files that contain the records. Their disk space is allocated when they are opened, so that a later put
/// does not find the disk full.
class SlotFiles {
 public:
  /// Creates and sizes the files in the folder `path`. Existing content stays, up to `shape.slots`. If the disk has
  /// less room, shape().slots becomes smaller, room stays for the table, and a warning goes to stderr. Throws
  /// std::runtime_error if there is no room for one slot. `direct`: uses O_DIRECT, or warns on stderr if the file
  /// system does not support it.
  SlotFiles(const std::string& path, Shape shape, bool direct);

  const Shape& shape() const { return shape_; }
  bool direct() const { return direct_; }
  int descriptor_of(Slot slot) const { return files_[shape_.file_of(slot)].get(); }
  /// Makes slots read as zeros, which are not a record. Transfers no data; durable once sync() has returned. Returns
  /// false if the file system does not support it or fails.
  bool wipe(Slot first, Slot count) const;
  /// Waits for the disk. Returns false if it failed.
  bool sync() const;
  /// Returns true if any of the files had bytes before it was opened here.
  bool had_bytes() const { return had_bytes_; }

 private:
  OwnFd open_one(const std::string& path);
  void remove_from(const std::string& path, Slot first);

  Shape shape_;
  bool direct_, had_bytes_ = false;
  std::vector<OwnFd> files_;
};

}  // namespace canopy::slots
