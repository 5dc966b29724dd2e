#include "head_scan.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "start_threads.h"
#include "table_file.h"

namespace canopy::slots {

namespace {

constexpr Slot kPart = 256;
/// Threads that each wait for one read at a time: enough to keep a disk busy.
constexpr unsigned kThreads = 16;

struct alignas(4096) Block {
  std::byte bytes[kDirectBytes];
};

/// Takes the memory of a part. A part that is left out would keep the scan from its end, so it waits for memory.
/// Returns false if `stopped` is set first.
bool take_memory(std::vector<RecordHead>& heads, const std::atomic<bool>& stopped) {
  while (!stopped) try {
      heads.reserve(kPart);
      return true;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  return false;
}

}  // namespace

HeadScan::HeadScan(const SlotFiles& files) : files_(files), slots_(files.shape().slots) {
  read_.reserve(slots_ / kPart + 1);
  start_threads(threads_, std::min<Slot>(kThreads, slots_ / kPart + 1), [this] { read(); });
}

HeadScan::~HeadScan() {
  stopped_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void HeadScan::read() {
  Block block;
  while (!stopped_) {
    const Slot first = next_.fetch_add(kPart);
    if (first >= slots_) return;
    Part part{first, {}};
    if (!take_memory(part.heads, stopped_)) return;
    for (Slot slot = first; slot < std::min(first + kPart, slots_) && !stopped_; ++slot) {
      const std::size_t count =
          read_at(files_.descriptor_of(slot), block.bytes, sizeof block.bytes, files_.shape().offset_of(slot));
      part.heads.push_back(count == sizeof block.bytes ? head_of(block.bytes) : RecordHead{});
    }
    if (stopped_) return;
    const std::lock_guard lock(mutex_);
    read_.push_back(std::move(part));
  }
}

std::vector<HeadScan::Part> HeadScan::take() {
  std::vector<Part> parts;
  const std::lock_guard lock(mutex_);
  parts.reserve(read_.size());  // before given_ goes on: a part that is not returned would never be
  std::sort(read_.begin(), read_.end(), [](const Part& one, const Part& other) { return one.first < other.first; });
  std::size_t count = 0;
  for (; count < read_.size() && read_[count].first == given_; ++count)
    given_ += static_cast<Slot>(read_[count].heads.size());
  parts.assign(std::make_move_iterator(read_.begin()),
               std::make_move_iterator(read_.begin() + static_cast<std::ptrdiff_t>(count)));
  read_.erase(read_.begin(), read_.begin() + static_cast<std::ptrdiff_t>(count));
  return parts;
}

}  // namespace canopy::slots
