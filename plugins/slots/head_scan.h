#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "record_head.h"
#include "slot_files.h"

namespace canopy::slots {

/// Reads the heads of all slots, on threads of its own: what a folder without a usable table has.
class HeadScan {
 public:
  explicit HeadScan(const SlotFiles& files);
  /// Stops.
  ~HeadScan();

  struct Part {
    Slot first = 0;
    std::vector<RecordHead> heads;
  };
  /// Parts that were read since the last call, in the order of their slots.
  std::vector<Part> take();
  /// Whether take() has given the last part.
  bool has_ended() const { return given_ == slots_; }
  /// The first slot that take() has not given.
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
