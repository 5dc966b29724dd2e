#pragma once

#include <memory>
#include <string>

#include "attachment.h"

namespace canopy::inspector {

/// A living feed, wherever it is, with a reader.
class FeedSource {
 public:
  virtual ~FeedSource() = default;
  virtual const FeedShape& shape() const = 0;
  virtual FeedReader& reader() = 0;
  /// Returns the reason why the feed has ended; empty while its writer is alive.
  virtual std::string gone() const = 0;
  /// Returns true if it is in shared memory: after its end another engine may publish under the same name.
  virtual bool is_shared() const = 0;
  /// Posts a command for the engine. Returns false if the feed takes none, or the engine has not read the last ones
  /// yet.
  virtual bool send(const Command& command) = 0;
};

/// Returns the source of a feed in shared memory.
std::unique_ptr<FeedSource> source_of(std::unique_ptr<Attachment> attachment);
/// Returns the source of a feed in this process. REQUIRES: the feed outlives it.
std::unique_ptr<FeedSource> source_of(FeedHeader& header);

}  // namespace canopy::inspector
