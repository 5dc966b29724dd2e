#include <canopy/kv_events/tree_queue.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace canopy::kv_events {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20, kMostQueueBytes = std::uint64_t{1} << 30;
/// Bytes after which an empty queue starts again at its first byte, so that it stays in the caches.
constexpr std::uint64_t kReuse = std::uint64_t{1} << 15;

/// Rounds up to multiples of a record, so that a record always fits before the end of the memory.
constexpr std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t kUnit = sizeof(TreeQueue::Record);
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

constexpr auto kSkip = static_cast<TreeQueue::Kind>(255);  // fills the rest of the memory

}  // namespace

TreeQueue::~TreeQueue() {
  if (base_) ::munmap(base_, size_);
}

std::string TreeQueue::begin(const Facts& facts) {
  if (begun_.load()) return "the listener belongs to another engine; each engine needs its own listener";
  if (facts.shape.overlap > 1)
    return "events.zmq: KV events have no form for keys whose units are more than two tokens";
  shape_ = facts.shape;
  for (const std::string_view name : facts.names) groups_.emplace_back(name);
  // Twice the words of a full index, so that the reader can work on one half while the other is filled, and records for
  // its nodes. The record of a node that fills the index then takes at most half of the memory, which room() requires.
  const std::uint64_t page = shape_.page_size;
  const std::uint64_t words = std::min(facts.words, kMostQueueBytes);
  const std::uint64_t wanted = 2 * (words * 4 + sizeof(Record)) + words / page * (sizeof(Record) + 4 * shape_.overlap);
  size_ = std::bit_ceil(std::clamp(wanted, kLeastBytes, kMostQueueBytes));
  void* const memory =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return std::string("events.zmq: the memory of the event queue: ") + std::strerror(errno);
  base_ = static_cast<std::byte*>(memory);
  begun_.store(true, std::memory_order_release);
  return {};
}

bool TreeQueue::has_room(std::uint64_t until) {
  if (until - read_seen_ <= size_) return true;
  read_seen_ = std::max(tail_.load(std::memory_order_acquire), start_place_);
  return until - read_seen_ <= size_;
}

/// Returns contiguous bytes after the newest record. Null: there are none.
std::byte* TreeQueue::room(std::size_t bytes) {
  if (bytes > size_ / 2) return nullptr;
  const std::uint64_t offset = at_ & (size_ - 1), skipped = offset + bytes > size_ ? size_ - offset : 0;
  while (!has_room(at_ + skipped + bytes)) {
    if (when_full_ == WhenFull::drop) return nullptr;
    head_.store(published_ = at_, std::memory_order_release);  // the reader may take records before the operation ends
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (skipped > 0) {
    auto* const skip = new (base_ + offset) Record;
    skip->bytes = static_cast<std::uint32_t>(skipped);
    skip->kind = kSkip;
    at_ += skipped;
  }
  std::byte* const found = base_ + (at_ & (size_ - 1));
  at_ += bytes;
  used_ = std::max(used_, static_cast<std::uint64_t>(found - base_) + bytes);
  return found;
}

TreeQueue::Record* TreeQueue::put(Kind kind, std::uint64_t node, std::size_t more) {
  if (lost_) return nullptr;
  if (at_ == published_ && at_ - start_place_ > kReuse) begin_at_start();
  const std::size_t bytes = rounded(sizeof(Record) + more);
  std::byte* const to = room(bytes);
  if (!to) return lost(), nullptr;
  auto* const record = new (to) Record;
  record->bytes = static_cast<std::uint32_t>(bytes);
  record->kind = kind;
  record->node = node;
  return record;
}

/// Drops what is queued of this operation: it is queued whole or not at all.
void TreeQueue::lost() noexcept {
  at_ = published_;
  lost_ = true;
  breaks_.fetch_add(1, std::memory_order_release);
}

/// Ensures that a namespace has a mark in left_out_. Returns false without memory: then everything is lost.
bool TreeQueue::has_mark(std::size_t space) noexcept try {
  if (left_out_.size() <= space) left_out_.resize(space + 1);
  return true;
} catch (const std::bad_alloc&) {
  return lost(), false;
}

void TreeQueue::space(NamespaceId space, std::string_view salt, std::string_view adapter) {
  const auto number = static_cast<std::size_t>(space);
  if (rounded(sizeof(Record) + salt.size() + adapter.size()) > size_ / 2) {
    if (lost_ || !has_mark(number)) return;
    if (!left_out_[number]) left_out_count_.fetch_add(1, std::memory_order_relaxed);
    left_out_[number] = true;
    return;
  }
  if (number < left_out_.size()) left_out_[number] = false;  // the number was another namespace's
  Record* const record = put(Kind::space, 0, salt.size() + adapter.size());
  if (!record) return;
  record->space = static_cast<std::uint32_t>(space);
  record->length = static_cast<std::uint32_t>(salt.size());
  record->other = adapter.size();
  auto* const text = reinterpret_cast<char*>(record + 1);
  adapter.copy(text + salt.copy(text, salt.size()), adapter.size());
}

void TreeQueue::added(const event::NodeAdded& node, const std::uint32_t* words) {
  if (const auto space = static_cast<std::size_t>(node.space); space < left_out_.size() && left_out_[space]) return;
  const std::size_t bytes = (std::size_t{node.length} + shape_.overlap) * sizeof(*words);
  Record* const record = put(Kind::added, static_cast<std::uint64_t>(node.node), bytes);
  if (!record) return;
  record->resident = node.resident;
  record->other = node.parent;
  record->length = node.length;
  record->space = static_cast<std::uint32_t>(node.space);
  std::memcpy(reinterpret_cast<std::byte*>(record + 1), words, bytes);
}

void TreeQueue::filled(NodeId node, std::uint8_t group, Units length, const std::uint32_t* words) {
  const std::size_t bytes = (std::size_t{length} + shape_.overlap) * sizeof(*words);
  Record* const record = put(Kind::filled, static_cast<std::uint64_t>(node), bytes);
  if (!record) return;
  record->group = group;
  record->length = length;
  std::memcpy(reinterpret_cast<std::byte*>(record + 1), words, bytes);
}

void TreeQueue::tombstoned(const event::NodeTombstoned& node) {
  if (Record* const record = put(Kind::tombstoned, static_cast<std::uint64_t>(node.node))) record->group = node.group;
}

void TreeQueue::split(const event::NodeSplit& node) {
  Record* const record = put(Kind::split, static_cast<std::uint64_t>(node.node));
  if (!record) return;
  record->other = static_cast<std::uint64_t>(node.upper);
  record->length = node.units;
}

void TreeQueue::removed(const event::NodeRemoved& node) { put(Kind::removed, static_cast<std::uint64_t>(node.node)); }
void TreeQueue::cleared(const event::Cleared&) { put(Kind::cleared, 0); }

bool TreeQueue::turn() {
  if (at_ != published_) {
    head_.store(published_ = at_, std::memory_order_release);
    // Between operations, so that the wait does not count as work of the index.
    while (when_full_ == WhenFull::wait && !has_room(at_ + size_ / 2))
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  // A new loss even if everything is lost already: the reader may have requested the resync before.
  if (useless_.load(std::memory_order_acquire) && useless_.exchange(false)) {
    wanted_.store(false, std::memory_order_relaxed);
    lost();
  }
  return lost_ && wanted_.load(std::memory_order_acquire);
}

/// Goes back to the start of the memory if the reader has read everything. The reader finds the place in start_ when it
/// reads the next head_.
void TreeQueue::begin_at_start() {
  if (tail_.load(std::memory_order_acquire) != published_) return;
  at_ = published_ = start_place_ = read_seen_ = (published_ / size_ + 1) * size_;
  start_.store(start_place_, std::memory_order_relaxed);
}

void TreeQueue::resync() {
  lost_ = false;
  wanted_.store(false, std::memory_order_relaxed);
}

const TreeQueue::Record* TreeQueue::next() {
  if (reading_ != read_to_) tail_.store(reading_ = read_to_, std::memory_order_release);
  for (;;) {
    const std::uint64_t head = head_.load(std::memory_order_acquire), start = start_.load(std::memory_order_relaxed);
    if (reading_ >= head) return nullptr;
    if (reading_ < start && start < head) reading_ = start;
    const auto* const record = reinterpret_cast<const Record*>(base_ + (reading_ & (size_ - 1)));
    read_to_ = reading_ + record->bytes;
    if (record->kind != kSkip) return record;
    tail_.store(reading_ = read_to_, std::memory_order_release);
  }
}

bool TreeQueue::has_more() const { return tail_.load() < head_.load(); }

std::span<const std::uint32_t> TreeQueue::words_of(const Record& record, Units overlap) {
  return {reinterpret_cast<const std::uint32_t*>(&record + 1), std::size_t{record.length} + overlap};
}

std::pair<std::string_view, std::string_view> TreeQueue::texts_of(const Record& record) {
  const auto* const text = reinterpret_cast<const char*>(&record + 1);
  return {{text, record.length}, {text + record.length, record.other}};
}

}  // namespace canopy::kv_events
