#pragma once

#include <canopy/feed/command.h>
#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace canopy {

/// A feed called NAME is the shared memory object kFeedPrefix + NAME, readable by its user alone.
inline constexpr const char* kFeedPrefix = "/canopy-";

/// What a header says of the engine. The writer keeps a copy of its own and never reads the shared one again; a reader
/// copies it once, when it attaches.
struct FeedShape {
  /// The last character is the version of the format. A new kind of event raises no version, since readers skip what
  /// they do not know; a change of the layout or of an event that exists does.
  static constexpr char kMagic[8] = {'c', 'a', 'n', 'o', 'p', 'y', 'f', '4'};

  alignas(8) char magic[8] = {};
  std::uint32_t event_bytes = 0;  ///< 32
  std::uint32_t page_size = 0, overlap = 0, groups = 0;
  std::uint64_t reaches[kMaxGroups] = {};
  std::uint64_t ring_events = 0;           ///< a power of two; 0: a file, which is no ring
  std::uint64_t pid = 0;                   ///< of the writer
  std::uint32_t tokens = 0, controls = 0;  ///< whether it carries tokens; whether it takes commands
  char name[64] = {};
};

/// What stands in front of the events. Readers map it without the right to write.
struct FeedHeader : FeedShape {
  static constexpr std::size_t kBytes = 4096;  ///< of a recording, in front of its events

  alignas(64) std::atomic<std::uint64_t> claimed;  ///< may be half written up to here
  std::atomic<std::uint64_t> committed;            ///< whole operations up to here
  std::atomic<std::uint64_t> taken;                ///< commands, by the engine
  std::atomic<std::uint32_t> closed;               ///< the writer closed the feed

  /// The last thing that the writer puts into the header. Before it, nothing in the header counts.
  void begin() { mark().store(std::bit_cast<std::uint64_t>(kMagic), std::memory_order_release); }

 private:
  std::atomic_ref<std::uint64_t> mark() { return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(magic)); }
};
static_assert(sizeof(FeedHeader) <= FeedHeader::kBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// What every reader writes. The engine takes a changed number as a sign to look, and believes none of them.
struct FeedDesk {
  std::atomic<std::uint64_t> keyframes_wanted;  ///< readers add, the engine answers
  std::atomic<std::uint32_t> readers;           ///< attached readers, including crashed ones
};

/// What readers that steer the engine write.
struct FeedCommands {
  static constexpr std::size_t kSlots = 16;

  std::atomic<std::uint64_t> posted;
  struct Slot {
    std::atomic<std::uint64_t> ready;  ///< number of the command in it, from 1
    Command command;
  } slots[kSlots];
};

/// A feed in memory: header, desk, commands, ring. Each begins on a page of its own, whatever the machine's pages are,
/// so that a reader maps with the right to write only what it has to write.
inline constexpr std::size_t kFeedPart = std::size_t{1} << 16;
static_assert(sizeof(FeedDesk) <= kFeedPart && sizeof(FeedCommands) <= kFeedPart);

template <class Part>
Part& part_behind(FeedHeader& header, std::size_t parts) {
  return *reinterpret_cast<Part*>(reinterpret_cast<std::byte*>(&header) + parts * kFeedPart);
}
inline FeedDesk& desk_behind(FeedHeader& header) { return part_behind<FeedDesk>(header, 1); }
inline FeedCommands& commands_behind(FeedHeader& header) { return part_behind<FeedCommands>(header, 2); }

/// An event as the ring holds it: four of these words.
using FeedWord = std::atomic<std::uint64_t>;
inline constexpr std::size_t kWordsAnEvent = sizeof(Event) / sizeof(FeedWord);

inline FeedWord* words_behind(FeedHeader& header) { return &part_behind<FeedWord>(header, 3); }
/// Bytes of a feed in memory.
constexpr std::uint64_t feed_bytes(std::uint64_t ring_events) { return 3 * kFeedPart + ring_events * sizeof(Event); }

}  // namespace canopy
