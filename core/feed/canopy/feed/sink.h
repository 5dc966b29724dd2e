#pragma once

#include <canopy/feed/feed.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy {

/// Where an engine's feed goes. In an engine's file: `off`, `{ heap: {} }`, `{ shm: { name: serve-3 } }` or
/// `{ file: { path: run.feed } }`, each with `tokens: true` if they may leave the process; the first two with
/// `events: 1M` and `controls: true`.
struct FeedConfig {
  enum class Kind { off, heap, shm, file };
  Kind kind = Kind::off;
  std::string name;          ///< shm: what an inspector attaches to; file: the path
  std::uint64_t events = 0;  ///< of the ring, rounded up to a power of two; 0: the engine chooses by its pools
  bool tokens = false;       ///< whether the tokens of prompts leave the process
  bool controls = false;     ///< whether whoever reads may pause, evict and change policies
};

/// The memory or the file behind a FeedWriter, from the first event to the last.
class FeedSink {
 public:
  /// `shape` brings what a header says of the engine. A shared memory of the name that no living process writes is
  /// replaced; a file is replaced, and
  /// whoever reads the old one keeps it.
  static Result<std::unique_ptr<FeedSink>> open(const FeedConfig& config, const FeedHeader& shape);
  virtual ~FeedSink() = default;

  virtual FeedWriter& writer() = 0;
  /// Empty, or why what was written since is lost: a full disk, once.
  virtual std::string failure() const { return {}; }
  /// Takes readers that ended without a word out of FeedHeader::readers, if none is left: nothing is written for the
  /// dead. A system call where there are readers.
  virtual void forget_dead_readers() {}
};

}  // namespace canopy
