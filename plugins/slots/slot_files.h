#pragma once

#include <canopy/support/file.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::slots {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

/// Where slots lie: in files of as many slots as fit into 16 GiB, the last file with fewer.
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

/// The files that records lie in, open. Their room on the disk is taken when they are opened, so that a put does not
/// find the disk full later.
class SlotFiles {
 public:
  /// Makes and sizes the files in the folder `path`: what is there stays, up to `shape.slots`. A disk without room for
  /// them all makes shape().slots smaller; stderr says so. Throws std::runtime_error if there is no room for one.
  /// `direct`: O_DIRECT, where the file system has it; where it has not, stderr says so.
  SlotFiles(const std::string& path, Shape shape, bool direct);

  const Shape& shape() const { return shape_; }
  bool direct() const { return direct_; }
  int descriptor_of(Slot slot) const { return files_[shape_.file_of(slot)].get(); }
  /// Makes slots read as zeros, which are no record. It moves no bytes, and lasts once sync() has returned. False: the
  /// file system cannot do so, or failed.
  bool wipe(Slot first, Slot count) const;
  /// Waits for the disk. False: it failed.
  bool sync() const;
  /// Whether any of the files had bytes in it before it was opened here.
  bool had_bytes() const { return had_bytes_; }

 private:
  UniqueFd open_one(const std::string& path);
  void remove_from(const std::string& path, Slot first);

  Shape shape_;
  bool direct_, had_bytes_ = false;
  std::vector<UniqueFd> files_;
};

}  // namespace canopy::slots
