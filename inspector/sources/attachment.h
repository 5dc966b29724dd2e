#pragma once

#include <canopy/feed/reader.h>
#include <canopy/feed/shared_mapping.h>
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
  /// As it was when this reader attached.
  const FeedShape& header() const { return shape_; }
  /// Why the feed has ended: the writer closed it, its process has gone, or its memory was cut short. Empty while the
  /// writer lives. Events written before the end can still be read. Costs one system call.
  std::string gone() const;
  /// Posts a command for the engine. False if the feed takes no commands, or the engine has not read the last ones yet.
  /// Until the first one this process cannot write where commands lie.
  bool send(const Command& command);
  /// The same for a feed of this process.
  static bool post(FeedHeader& header, const Command& command);

 private:
  Attachment() = default;
  FeedHeader& shared() const { return *reinterpret_cast<FeedHeader*>(memory_.base()); }

  SharedMapping memory_;
  FeedShape shape_;
  bool may_send_ = false;
  UniqueFd descriptor_;  ///< its lock tells the writer that a reader lives
  std::unique_ptr<FeedReader> reader_;
};

}  // namespace canopy::inspector
