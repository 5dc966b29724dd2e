#pragma once

#include <canopy/feed/writer.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy {

/// Where an engine's feed goes. In an engine's file: `off`, `{ heap: {} }`, `{ shm: { name: serve-3 } }` or
/// `{ file: { path: run.feed } }`, each with `tokens: true` if tokens may be in it; heap and shm
/// also take `events: 1M` and `controls: true`.
struct FeedConfig {
  enum class Kind { off, heap, shm, file };
  Kind kind = Kind::off;
  std::string name;          ///< shm: what an inspector attaches to; file: the path
  std::uint64_t events = 0;  ///< of the ring, rounded up to a power of two; 0: the engine chooses by its pools
  bool tokens = false;       ///< whether the tokens of prompts leave the process
  bool controls = false;     ///< whether a reader may pause, evict and change policies
};

/// The memory or the file behind a FeedWriter, from the first event to the last.
class FeedSink {
 public:
  /// `shape` brings what a header says of the engine. A shared memory object of the name is replaced if no living
  /// process writes it. A file is replaced; a reader that has the old one open keeps it.
  static Result<std::unique_ptr<FeedSink>> open(const FeedConfig& config, const FeedHeader& shape);
  virtual ~FeedSink() = default;

  virtual FeedWriter& writer() = 0;
  /// Empty, or why what was written since is lost: a full disk, once.
  virtual std::string failure() const { return {}; }
  /// Sets FeedHeader::readers to 0 if every reader it counts has crashed, so that the engine stops writing for them. A
  /// system call where readers are counted.
  virtual void forget_dead_readers() {}
};

}  // namespace canopy
