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

/// What is wrong with the name: " is 'a b'; expected ...". Empty: nothing is.
std::string flaw_of_name(const FeedConfig& feed);

/// The memory or the file behind a FeedWriter, from the first event to the last.
///
/// A recording takes shape as PATH.part, which can be opened meanwhile, and is renamed to PATH by finish(). It replaces
/// an empty file or a recording, nothing else, and is readable by its user alone. What a process wrote that was killed
/// stays in PATH.part until the next recording to PATH. One process records to a PATH at a time.
class FeedSink {
 public:
  /// `shape` brings what a header says of the engine. A shared memory object of the name is replaced if no living
  /// process writes it. A recording that is replaced stays for a reader that has it open.
  static Result<std::unique_ptr<FeedSink>> open(const FeedConfig& config, const FeedShape& shape);
  /// PATH.part of a recording's path, beside what a link leads to.
  static std::string part_of(const std::string& path);
  virtual ~FeedSink() = default;

  virtual FeedWriter& writer() = 0;
  /// Empty, or why what was written since is lost: a full disk, or shared memory that another process cut short.
  virtual std::string failure() const { return {}; }
  /// Whether a reader is attached and lives. In shared memory the kernel says so, for a system call. False for a file.
  virtual bool watched() { return false; }
  /// Ends the feed: the rest is written, and a recording of at least one operation takes its name. failure() tells
  /// whether it could. Nothing may be pushed after it. The destructor finishes what was not finished.
  virtual void finish() {}
  /// Ends the feed and takes the recording away: the run that it would tell of was refused.
  virtual void discard() {}
  /// Called after each operation with the engine's clock, in microseconds: writes out what is older than a fifth of a
  /// second, so that a process that is killed loses no more.
  virtual void keep_pace(std::uint64_t) {}
};

}  // namespace canopy
