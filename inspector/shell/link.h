#pragma once

#include <canopy/feed/command.h>
#include <canopy/feed/header.h>
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
  /// Passes the events that have arrived to the mirror, and updates session and time. Returns false if the budget ended
  /// before the events did.
  virtual bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) = 0;
  /// Sends a command. Returns false if the feed takes none, or the engine has not read the last ones yet.
  virtual bool send(const Command& command) { return static_cast<void>(command), false; }
  /// Returns true if, after the engine's end, another engine may publish under the same name.
  virtual bool can_come_again() const { return false; }
  /// Returns the name of the recording, with which its notes are kept; empty for a live feed.
  virtual std::string recording() const { return {}; }
  /// Returns the commit with which a request began; 0 if it is unknown. Only a recording knows it.
  virtual std::uint64_t begun(std::uint64_t request) const { return static_cast<void>(request), 0; }
};

/// Returns a link to a recording. Its checkpoints take at most `checkpoint_bytes`: more of them make going back faster.
std::unique_ptr<Link> link_to(std::unique_ptr<Recording> recording, std::string name,
                              std::size_t checkpoint_bytes = Checkpoints::kMostBytes);

}  // namespace canopy::inspector
