#pragma once

#include <canopy/base/file.h>
#include <canopy/base/result.h>
#include <canopy/feed/reader.h>
#include <canopy/feed/shared_mapping.h>

#include <memory>
#include <string>
#include <vector>

namespace canopy::inspector {

/// A feed in shared memory before a reader attaches.
struct FoundFeed {
  std::string name;
  std::uint64_t process = 0;
  std::string program;  ///< name of the process's program; empty if unknown
  std::uint32_t page_size = 0, groups = 0;
  bool controls = false;
  std::string ended;    ///< reason why it has ended; empty: a reader can attach
  bool tokens = false;  ///< true if it contains tokens of prompts
};

/// The reading end of a feed in shared memory. If a reader dies, the writer continues and stops writing for it a few
/// thousand operations later.
class Attachment {
 public:
  /// Attaches to the feed that a process of this user publishes under `name`. The error lists the available names.
  static Result<std::unique_ptr<Attachment>> attach(const std::string& name);
  /// Returns the feeds of this user's processes by name; ended feeds come last.
  static std::vector<FoundFeed> found();
  /// Returns the names that can be attached to now, sorted.
  static std::vector<std::string> names();
  ~Attachment();
  Attachment(const Attachment&) = delete;

  FeedReader& reader() { return *reader_; }
  /// Returns the header at the time of attaching.
  const FeedShape& header() const { return shape_; }
  /// Returns the reason why the feed has ended: the writer closed it, its process has ended, or its memory was cut
  /// short. Empty while the writer is alive. Events written before the end can still be read. Costs one system call.
  std::string gone() const;
  /// Posts a command for the engine. Returns false if the feed takes no commands, or the engine has not read the last
  /// ones yet. Until its first command this process cannot write to the command area.
  bool send(const Command& command);
  /// Posts a command to a feed of this process.
  static bool post(FeedHeader& header, const Command& command);

 private:
  Attachment() = default;
  FeedHeader& shared() const { return *reinterpret_cast<FeedHeader*>(memory_.base()); }

  SharedMapping memory_;
  FeedShape shape_;
  bool may_send_ = false;
  UniqueFd descriptor_;  ///< its lock shows the writer that a reader is alive
  std::unique_ptr<FeedReader> reader_;
};

}  // namespace canopy::inspector
