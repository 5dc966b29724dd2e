#include "run_store.h"

#include <algorithm>
#include <bit>

namespace canopy::radix {
namespace {

constexpr std::size_t kGranuleBytes = 16;
constexpr std::uint64_t kMayKeep = (std::uint64_t{256} << 10) / kGranuleBytes;  // less is not worth a system call
constexpr std::uint32_t kDropBlock = (std::uint32_t{8} << 10) / kGranuleBytes;  // smaller: maybe no whole page in it

}  // namespace

RunStore::RunStore(std::uint64_t keep_free, std::uint64_t ahead, std::uint64_t keep)
    : keep_free_(keep_free), keep_granules_(keep / kGranuleWords) {
  if (ahead && !memory_.reserve(ahead / kGranuleWords * kGranuleBytes)) keep_granules_ = 0;
}

std::uint32_t RunStore::granules(std::uint64_t words) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(kLeastGranules, (words + kHeaderWords + kGranuleWords - 1) / kGranuleWords));
}

/// Returns the bin of a size: sixteen bins to each power of two.
std::uint32_t RunStore::bin_of(std::uint32_t size) {
  const auto log = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
  const std::uint32_t part = log >= 4 ? (size >> (log - 4)) & 15 : (size << (4 - log)) & 15;
  return log * 16 + part;
}

RunStore::Block RunStore::allocate(std::uint64_t words) {
  if (words >= std::uint64_t{1} << 32) return 0;
  const std::uint32_t size = granules(words);
  if (const Block found = take(size)) return found;
  const std::uint64_t end = std::uint64_t{end_} + size;
  // One granule past the end stays addressable, so that the header of any block's successor can be read.
  if (end >= kFree || !memory_.reserve((end + 1) * kGranuleBytes)) return 0;
  const Block block = end_;
  end_ = static_cast<Block>(end);
  header(block).size = size;
  header(block).before = 0;
  return block;
}

RunStore::Block RunStore::take(std::uint32_t size) {
  // Some blocks in the bin of this size may be too small, so only a few of them are tried. Any block of a larger bin
  // fits.
  constexpr int kLooks = 4;
  const std::uint32_t bin = bin_of(size);
  Block found = bins_[bin];
  for (int look = 0; found && (header(found).size & ~kFree) < size; ++look)
    found = look < kLooks ? header(found).next : 0;
  if (!found) {
    std::uint32_t word = (bin + 1) / 64;
    std::uint64_t rest = word < filled_.size() ? filled_[word] >> ((bin + 1) % 64) << ((bin + 1) % 64) : 0;
    while (rest == 0 && ++word < filled_.size()) rest = filled_[word];
    if (rest == 0) return 0;
    found = bins_[word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest))];
  }
  const std::uint32_t had = header(found).size & ~kFree, resident = unlink(found);
  header(found).size = had;
  if (found + had != end_) header(found + had).before = 0;
  if (had - size >= kLeastGranules) {
    header(found).size = size;
    header(found + size).before = 0;
    release(found + size, had - size, std::min(resident, had - size));
  }
  return found;
}

void RunStore::shrink(Block block, std::uint64_t words) {
  const std::uint32_t had = header(block).size, size = granules(words);
  if (had - size < kLeastGranules) return;
  header(block).size = size;
  header(block + size).before = 0;
  release(block + size, had - size, had - size);
}

void RunStore::free(Block block) { release(block, header(block).size, header(block).size); }

void RunStore::release(Block block, std::uint32_t size, std::uint32_t resident) {
  if (const std::uint32_t before = header(block).before) {
    block -= before;
    resident += unlink(block);
    size += before;
  }
  if (const Block after = block + size; after != end_ && (header(after).size & kFree)) {
    size += header(after).size & ~kFree;
    resident += unlink(after);
  }
  if (block + size == end_) {
    end_ = block;
    trim_end();
    return;
  }
  link(block, size, resident);
  // Small fragments cannot be given back. After a try that failed for this reason, the next one waits until another
  // quarter of the limit is kept.
  if (const std::uint64_t most = may_keep(); kept_granules_ > most && kept_granules_ > stuck_granules_ + most / 4)
    give_back();
}

void RunStore::link(Block block, std::uint32_t size, std::uint32_t resident) {
  const std::uint32_t bin = bin_of(size);
  Header& head = header(block);
  head.size = size | kFree;
  head.next = bins_[bin];
  head.prev = 0;
  if (head.next) header(head.next).prev = block;
  bins_[bin] = block;
  filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
  header(block + size).before = size;
  head.resident = resident;
  free_granules_ += size;
  kept_granules_ += resident;
}

std::uint32_t RunStore::unlink(Block block) {
  Header& head = header(block);
  const std::uint32_t size = head.size & ~kFree, bin = bin_of(size);
  if (head.next) header(head.next).prev = head.prev;
  if (head.prev) header(head.prev).next = head.next;
  else if ((bins_[bin] = head.next) == 0) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
  free_granules_ -= size;
  kept_granules_ -= head.resident;
  return head.resident;
}

std::uint64_t RunStore::may_keep() const {
  const std::uint64_t used = end_ - free_granules_;
  return std::max({kMayKeep, used * keep_free_ / 100, keep_granules_ - std::min(used, keep_granules_)});
}

/// Returns memory to the system, but not more than necessary. Begins with the largest blocks, because take() uses those
/// last.
void RunStore::give_back() {
  const std::uint64_t enough = may_keep() / 4 * 3;  // memory that is given back must be faulted in again
  for (std::size_t bin = bins_.size(); bin-- > bin_of(kDropBlock) && kept_granules_ > enough;)
    for (Block block = bins_[bin]; block && kept_granules_ > enough; block = header(block).next) {
      Header& head = header(block);
      const std::uint32_t size = head.size & ~kFree;
      if (head.resident < kDropBlock) continue;
      const std::size_t from = std::size_t{block} * kGranuleBytes + sizeof(Header);
      const std::size_t gone = memory_.drop(from, std::size_t{block + size} * kGranuleBytes) / kGranuleBytes;
      const auto left = static_cast<std::uint32_t>(size - gone);
      kept_granules_ -= head.resident - std::min(left, head.resident);
      head.resident = std::min(left, head.resident);
    }
  stuck_granules_ = kept_granules_ > enough ? kept_granules_ : 0;
  trim_end();
}

/// Returns the memory beyond the end that free storage may not keep to the system.
void RunStore::trim_end() {
  const std::uint64_t most = may_keep();
  memory_.keep((std::size_t{end_} + 1 + most - std::min(most, kept_granules_)) * kGranuleBytes);
}

}  // namespace canopy::radix
