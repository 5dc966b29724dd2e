#pragma once

#include <sources/attachment.h>
#include <sources/checkpoints.h>
#include <sources/recording.h>

#include <chrono>
#include <memory>
#include <string>

#include <views/scene.h>

namespace canopy::inspector {

/// Where the mirror's events come from, as the shell drives it: once a frame, for a few milliseconds.
class Link {
 public:
  virtual ~Link() = default;
  virtual const FeedHeader& header() const = 0;
  /// Brings the mirror on, and says how that goes. Afterwards there is nothing left to take, or `false`.
  virtual bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) = 0;
  /// False if the engine has not read the last commands yet, or takes none.
  virtual bool send(const Command& command) { return static_cast<void>(command), false; }
  /// The commit with which a request began, where that is known beforehand: in a recording. 0: it is not.
  virtual std::uint64_t begun(std::uint64_t request) const { return static_cast<void>(request), 0; }
};

/// The ring of an engine in this process. REQUIRES: the engine outlives it.
std::unique_ptr<Link> link_to(FeedHeader& header, std::string name);
std::unique_ptr<Link> link_to(std::unique_ptr<Attachment> attachment, std::string name);
std::unique_ptr<Link> link_to(std::unique_ptr<Recording> recording, std::string name);

}  // namespace canopy::inspector
