#pragma once

#include <canopy/feed/reader.h>
#include <canopy/support/file.h>
#include <canopy/support/result.h>

#include <memory>
#include <string>
#include <vector>

namespace canopy::inspector {

/// A feed in shared memory, as it looks before a reader attaches.
struct FoundFeed {
  std::string name;
  std::uint64_t process = 0;
  std::string program;  ///< name of the process's program; empty if unknown
  std::uint32_t page_size = 0, groups = 0;
  bool controls = false;
  std::string ended;  ///< why it writes no more; empty: a reader can attach
};

/// The reading end of a feed in shared memory. A reader may die at any moment: the writer goes on, and stops writing
/// for it a few thousand operations later.
class Attachment {
 public:
  /// The feed that a process of this user publishes under `name`. The error lists the names there are.
  static Result<std::unique_ptr<Attachment>> attach(const std::string& name);
  /// The feeds of this user's processes, by name; feeds that have ended come last.
  static std::vector<FoundFeed> found();
  /// Names that can be attached to now, sorted.
  static std::vector<std::string> names();
  ~Attachment();
  Attachment(const Attachment&) = delete;

  FeedReader& reader() { return *reader_; }
  const FeedHeader& header() const { return *header_; }
  /// Why the feed has ended: the writer closed it, or its process has gone. Empty while the writer lives. Events
  /// written before the end can still be read. Costs one system call.
  std::string gone() const;
  /// Posts a command for the engine. False if the feed takes no commands, or the engine has not read the last ones yet.
  bool send(const Command& command) { return post(*header_, command); }
  /// The same for a feed of this process.
  static bool post(FeedHeader& header, const Command& command);

 private:
  Attachment() = default;
  FeedHeader* header_ = nullptr;
  std::size_t bytes_ = 0;
  UniqueFd descriptor_;  ///< its lock tells the writer that a reader lives
  std::unique_ptr<FeedReader> reader_;
};

}  // namespace canopy::inspector
