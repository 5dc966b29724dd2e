#pragma once

#include <canopy/base/result.h>
#include <canopy/feed/writer.h>
#include <canopy/words.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy {

/// Destination of an engine's feed. In an engine's file: `off`, `{ heap: {} }`, `{ shm: { name: serve-3 } }` or
/// `{ file: { path: run.feed } }`, each with `tokens: true` if tokens may be in it; heap and shm also take `events: 1M`
/// and `controls: true`.
struct FeedConfig {
  enum class Kind { off, heap, shm, file };
  Kind kind = Kind::off;
  std::string name;          ///< shm: name to which an inspector attaches; file: the path
  std::uint64_t events = 0;  ///< events in the ring, rounded up to a power of two; 0: chosen by the size of the pools
  bool tokens = false;       ///< true if tokens of prompts may leave the process
  bool controls = false;     ///< true if a reader may pause, evict and change policies
};
template <>
struct NamesOf<FeedConfig::Kind> {
  static constexpr const char* kAll[] = {"off", "heap", "shm", "file"};
};

/// Returns an error message about the name, to follow that of the option: " is 'a b'; expected ...". Empty if the name
/// is valid.
std::string flaw_of_name(const FeedConfig& feed);

/// The memory or file behind a FeedWriter.
///
/// A recording is written to PATH.part, which can already be read, and finish() renames it to PATH. It replaces only an
/// empty file or a recording, and only its user can read it. finish() also marks the end in the header (RecordingEnd).
/// If the process is killed, PATH.part remains, without that mark, until the next recording to PATH. Only one process
/// may record to a PATH at a time.
///
/// In a forked child the feed is closed: the child's engine sends nothing, and the parent's feed goes on.
class FeedSink {
 public:
  /// Opens a feed with the header `shape`. Replaces a shared memory object of the same name if no process writes it any
  /// longer. A reader that has a replaced recording open can still read it.
  static Result<std::unique_ptr<FeedSink>> open(const FeedConfig& config, const FeedShape& shape);
  /// Returns PATH.part for the path of a recording. If PATH is a link, it is beside the file to which the link leads.
  static std::string part_of(const std::string& path);
  virtual ~FeedSink() = default;

  virtual FeedWriter& writer() = 0;
  /// Returns an error message if recent events were lost: to a full disk, or because another process shortened the
  /// shared memory. Empty if none were.
  virtual std::string failure() const { return {}; }
  /// Returns true if a living reader is attached; false for a file. In shared memory it costs a system call.
  virtual bool watched() { return false; }
  /// Ends the feed: writes the rest, and renames a recording of at least one operation; failure() returns an error if
  /// that fails. Nothing may be pushed afterwards. The destructor finishes a feed that was not finished.
  virtual void finish() {}
  /// Ends the feed and deletes the recording, because its run was refused.
  virtual void discard() {}
  /// Writes the events to the file at most every fifth of a second, so that a killed process loses no more than that.
  /// Called after each operation with the engine's clock, in microseconds.
  virtual void keep_pace(std::uint64_t) {}
};

}  // namespace canopy
