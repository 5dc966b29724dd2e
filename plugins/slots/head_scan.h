#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "record_head.h"
#include "slot_files.h"

namespace canopy::slots {

/// Reads the heads of all slots on its own threads, for a folder without a usable table.
class HeadScan {
 public:
  explicit HeadScan(const SlotFiles& files);
  /// Stops the scan.
  ~HeadScan();

  struct Part {
    Slot first = 0;
    std::vector<RecordHead> heads;
  };
  /// Returns the parts that were read since the last call, in order of slots.
  std::vector<Part> take();
  /// Returns true if take() has returned the last part.
  bool has_ended() const { return given_ == slots_; }
  /// Returns the first slot that take() has not returned yet.
  Slot given() const { return given_; }

 private:
  void read();

  const SlotFiles& files_;
  Slot slots_, given_ = 0;
  std::atomic<Slot> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::vector<Part> read_;
  std::vector<std::thread> threads_;
};

}  // namespace canopy::slots
