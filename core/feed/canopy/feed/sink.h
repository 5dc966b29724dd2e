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
  static Result<std::unique_ptr<FeedSink>> open(const FeedConfig& config, const FeedShape& shape);
  virtual ~FeedSink() = default;

  virtual FeedWriter& writer() = 0;
  /// Empty, or why what was written since is lost: a full disk, or shared memory that another process cut short.
  virtual std::string failure() const { return {}; }
  /// Whether a reader is attached and lives. In shared memory the kernel says so, for a system call. False for a file.
  virtual bool watched() { return false; }
};

}  // namespace canopy
