#include "head_scan.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "start_threads.h"

namespace canopy::slots {

namespace {

constexpr Slot kPart = 256;
/// Threads that each wait for one read at a time: enough to keep a disk busy.
constexpr unsigned kThreads = 16;

struct alignas(4096) Block {
  std::byte bytes[kDirectBytes];
};

}  // namespace

HeadScan::HeadScan(const SlotFiles& files) : files_(files), slots_(files.shape().slots) {
  start_threads(threads_, std::min<Slot>(kThreads, slots_ / kPart + 1), [this] { read(); });
}

HeadScan::~HeadScan() {
  stopped_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void HeadScan::read() {
  const auto block = std::make_unique<Block>();
  while (!stopped_) {
    const Slot first = next_.fetch_add(kPart);
    if (first >= slots_) return;
    Part part{first, {}};
    for (Slot slot = first; slot < std::min(first + kPart, slots_) && !stopped_; ++slot) {
      const auto offset = static_cast<off_t>(files_.shape().offset_of(slot));
      const ssize_t count = ::pread(files_.descriptor_of(slot), block->bytes, sizeof block->bytes, offset);
      part.heads.push_back(count == ssize_t{sizeof block->bytes} ? head_of(block->bytes) : RecordHead{});
    }
    if (stopped_) return;
    const std::lock_guard lock(mutex_);
    read_.push_back(std::move(part));
  }
}

std::vector<HeadScan::Part> HeadScan::take() {
  std::vector<Part> parts;
  const std::lock_guard lock(mutex_);
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
