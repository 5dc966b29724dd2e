#pragma once

#include <canopy/feed/command.h>
#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace canopy {

/// Prefix of a feed's shared memory object: feed NAME is kFeedPrefix + NAME. Only its user can read it.
inline constexpr const char* kFeedPrefix = "/canopy-";

/// Facts about the engine in the header of a feed. The writer keeps a copy and never reads the shared one again. A
/// reader copies it once, when it attaches.
struct FeedShape {
  /// The last character is the version of the format. A new kind of event leaves the version unchanged, since readers
  /// skip unknown kinds, and so does a new field in unused bytes whose 0 means what held before, if a new kind of event
  /// comes with it, which earlier readers count as unknown. Any other change of the layout or of an event raises it.
  static constexpr char kMagic[8] = {'c', 'a', 'n', 'o', 'p', 'y', 'f', '5'};

  alignas(8) char magic[8] = {};
  std::uint32_t event_bytes = 0;  ///< 32
  std::uint32_t page_size = 0, overlap = 0, groups = 0;
  std::uint64_t reaches[kMaxGroups] = {};
  std::uint64_t ring_events = 0;           ///< events that the ring holds, a power of two; 0: a file, without a ring
  std::uint64_t pid = 0;                   ///< process id of the writer
  std::uint32_t tokens = 0, controls = 0;  ///< 1 if the feed contains tokens; 1 if the engine takes commands
  char name[64] = {};
};

/// The header before the events. Readers map it read-only.
struct FeedHeader : FeedShape {
  static constexpr std::size_t kBytes = 4096;  ///< bytes before the events of a recording

  alignas(64) std::atomic<std::uint64_t> claimed;  ///< events so far, including those that are being written
  std::atomic<std::uint64_t> committed;            ///< events so far of whole operations
  std::atomic<std::uint64_t> taken;                ///< commands that the engine has taken
  std::atomic<std::uint32_t> closed;               ///< 1 once the writer has closed the feed; a recording: RecordingEnd
  std::atomic<std::uint64_t> sum;  ///< a recording that was closed: RecordingSum of all before and behind

  /// Completes the header. The writer calls it last; until then readers ignore the header.
  void begin() { mark().store(std::bit_cast<std::uint64_t>(kMagic), std::memory_order_release); }

 private:
  std::atomic_ref<std::uint64_t> mark() { return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(magic)); }
};
static_assert(sizeof(FeedHeader) <= FeedHeader::kBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Values of FeedHeader::closed in a recording.
struct RecordingEnd {
  static constexpr std::uint32_t kNotMarked = 0;  ///< an earlier version wrote it, which marked no end
  /// Its writer closed it: it has `committed` events, and their sum is `sum`.
  static constexpr std::uint32_t kClosed = 1;
  /// Its writer writes it now, or was killed. No single bit makes another of these values of it.
  static constexpr std::uint32_t kOpen = 0x6e65706f;
};

/// A checksum over the header's facts and the events of a recording, in the order of the file. It finds accidents: bits
/// that flipped, and parts that moved or are gone.
class RecordingSum {
 public:
  explicit RecordingSum(const FeedShape& shape) { add_bytes(&shape, sizeof(shape)); }
  void add(const Event* events, std::size_t count) { add_bytes(events, count * sizeof(Event)); }
  std::uint64_t value() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes_) sum = next(sum, lane);
    return sum;
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t), kLanes = sizeof(Event) / kWord;
  static_assert(sizeof(FeedShape) % kWord == 0 && std::has_unique_object_representations_v<FeedShape>);
  static constexpr std::uint64_t next(std::uint64_t sum, std::uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    return sum ^ sum >> 32;
  }
  void add_bytes(const void* from, std::size_t bytes) {
    const auto* at = static_cast<const std::byte*>(from);
    for (std::size_t i = 0; i < bytes / kWord; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, at + i * kWord, kWord);
      lanes_[i % kLanes] = next(lanes_[i % kLanes], word);
    }
  }

  std::uint64_t lanes_[kLanes] = {};
};

/// The part that every reader may write. The engine treats a change of a value only as a hint, and never relies on it.
struct FeedDesk {
  std::atomic<std::uint64_t> keyframes_wanted;  ///< requests for a keyframe so far; a reader increments it
  std::atomic<std::uint32_t> readers;           ///< attached readers, including crashed ones
};

/// The part written by readers that control the engine.
struct FeedCommands {
  static constexpr std::size_t kSlots = 16;

  std::atomic<std::uint64_t> posted;  ///< commands posted so far
  struct Slot {
    std::atomic<std::uint64_t> ready;  ///< number of the command in the slot, from 1; 0: none yet
    Command command;
  } slots[kSlots];
};

/// Bytes of each part of a feed in memory: header, desk, commands, ring. Each begins on its own page, for any page size
/// of the machine, so that a reader maps only its own parts as writable.
inline constexpr std::size_t kFeedPart = std::size_t{1} << 16;
static_assert(sizeof(FeedDesk) <= kFeedPart && sizeof(FeedCommands) <= kFeedPart);

/// Returns the part that lies `parts` parts after the header.
template <class Part>
Part& part_behind(FeedHeader& header, std::size_t parts) {
  return *reinterpret_cast<Part*>(reinterpret_cast<std::byte*>(&header) + parts * kFeedPart);
}
inline FeedDesk& desk_behind(FeedHeader& header) { return part_behind<FeedDesk>(header, 1); }
inline FeedCommands& commands_behind(FeedHeader& header) { return part_behind<FeedCommands>(header, 2); }

/// A word of an event in the ring. An event has four words.
using FeedWord = std::atomic<std::uint64_t>;
inline constexpr std::size_t kWordsAnEvent = sizeof(Event) / sizeof(FeedWord);

inline FeedWord* words_behind(FeedHeader& header) { return &part_behind<FeedWord>(header, 3); }
/// Returns the size of a feed in memory, in bytes.
constexpr std::uint64_t feed_bytes(std::uint64_t ring_events) { return 3 * kFeedPart + ring_events * sizeof(Event); }

}  // namespace canopy
