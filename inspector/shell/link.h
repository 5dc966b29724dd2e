#pragma once

#include <sources/attachment.h>
#include <sources/checkpoints.h>
#include <sources/recording.h>

#include <chrono>
#include <memory>
#include <string>

#include <views/scene.h>

namespace canopy::inspector {

/// The source of the mirror's events. The shell calls pump() once a frame, for a few milliseconds.
class Link {
 public:
  virtual ~Link() = default;
  virtual const FeedShape& header() const = 0;
  /// Gives the mirror the events that have come, and updates session and time. False if the budget ended before the
  /// events did.
  virtual bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) = 0;
  /// False if the engine has not read the last commands yet, or takes none.
  virtual bool send(const Command& command) { return static_cast<void>(command), false; }
  /// Whether an engine of the same name may publish it again after it has ended.
  virtual bool can_come_again() const { return false; }
  /// The commit with which a request began, if the whole feed is known (a recording). 0: unknown.
  virtual std::uint64_t begun(std::uint64_t request) const { return static_cast<void>(request), 0; }
};

/// The ring of an engine in this process. REQUIRES: the engine outlives it.
std::unique_ptr<Link> link_to(FeedHeader& header, std::string name);
std::unique_ptr<Link> link_to(std::unique_ptr<Attachment> attachment, std::string name);
std::unique_ptr<Link> link_to(std::unique_ptr<Recording> recording, std::string name);

}  // namespace canopy::inspector
