#pragma once

#include <canopy/feed/feed.h>
#include <canopy/support/file.h>
#include <canopy/support/result.h>

#include <memory>
#include <string>
#include <vector>

namespace canopy::inspector {

/// A feed in shared memory as it is seen without attaching to it.
struct FoundFeed {
  std::string name;
  std::uint64_t process = 0;
  std::string program;  ///< that the process runs; empty if it is not known
  std::uint32_t page_size = 0, groups = 0;
  bool controls = false;
  std::string ended;  ///< why nothing comes of it any more; empty: it can be attached to
};

/// The reading end of a feed in shared memory. A reader may die at any moment: the writer goes on, and stops writing
/// for it a few thousand operations later.
class Attachment {
 public:
  /// The feed that a process of this user publishes under `name`; the error says which names there are.
  static Result<std::unique_ptr<Attachment>> attach(const std::string& name);
  /// The feeds of this user's processes, by name; those that have ended come last.
  static std::vector<FoundFeed> found();
  /// Names that can be attached to now, sorted.
  static std::vector<std::string> names();
  ~Attachment();
  Attachment(const Attachment&) = delete;

  FeedReader& reader() { return *reader_; }
  const FeedHeader& header() const { return *header_; }
  /// Why nothing comes any more: the writer has closed the feed, or its process has gone. Empty while it lives. What
  /// was written until then can still be read. One system call.
  std::string gone() const;
  /// Leaves a command for the engine; false if it takes none, or has not read the last ones yet.
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
