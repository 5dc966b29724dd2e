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

/// What stands in front of the events: a page of its own.
struct FeedHeader {
  /// The last character is the version of the format. A new kind of event raises no version, since readers skip what
  /// they do not know; a change of the header or of an event that exists does.
  static constexpr char kMagic[8] = {'c', 'a', 'n', 'o', 'p', 'y', 'f', '3'};
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kCommands = 16;

  alignas(8) char magic[8];
  std::uint32_t event_bytes;  ///< 32
  std::uint32_t page_size, overlap, groups;
  std::uint64_t reaches[kMaxGroups];
  std::uint64_t ring_events;       ///< a power of two; 0: a file, which is no ring
  std::uint64_t pid;               ///< of the writer
  std::uint32_t tokens, controls;  ///< whether it carries tokens; whether it takes commands
  char name[64];

  alignas(64) std::atomic<std::uint64_t> claimed;           ///< may be half written up to here
  std::atomic<std::uint64_t> committed;                     ///< whole operations up to here
  std::atomic<std::uint32_t> closed;                        ///< the writer closed the feed
  alignas(64) std::atomic<std::uint64_t> keyframes_wanted;  ///< readers add, the engine answers
  std::atomic<std::uint32_t>
      readers;  ///< attached readers, including crashed ones that the writer has not detected yet
  alignas(64) std::atomic<std::uint64_t> posted;  ///< commands
  std::atomic<std::uint64_t> taken;               ///< of them, by the engine
  struct Slot {
    std::atomic<std::uint64_t> ready;  ///< number of the command in it, from 1
    Command command;
  } commands[kCommands];

  /// The last thing that the writer puts into the header. Before it, nothing in the header counts.
  void begin() { mark().store(std::bit_cast<std::uint64_t>(kMagic), std::memory_order_release); }
  bool begun() { return mark().load(std::memory_order_acquire) != 0; }

 private:
  std::atomic_ref<std::uint64_t> mark() { return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(magic)); }
};
static_assert(sizeof(FeedHeader) <= FeedHeader::kBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// An event as the ring holds it: four of these words.
using FeedWord = std::atomic<std::uint64_t>;
inline constexpr std::size_t kWordsAnEvent = sizeof(Event) / sizeof(FeedWord);

/// The ring behind a header.
inline FeedWord* words_behind(FeedHeader& header) {
  return reinterpret_cast<FeedWord*>(reinterpret_cast<std::byte*>(&header) + FeedHeader::kBytes);
}

}  // namespace canopy
