#pragma once

#include <metrics/tally.h>
#include <sources/attachment.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace canopy::app {

/// Reads a feed without end: waits until there is one with its name, and attaches again after its end.
class FeedFollower {
 public:
  /// At most `tenants` namespaces have their own figures.
  FeedFollower(std::string name, std::size_t tenants);

  /// Applies the events that have arrived, for at most some milliseconds. While there is no feed, looks for it
  /// regularly.
  void step();
  /// Returns the reason why there is no feed at present; empty while there is one.
  const std::string& why() const { return why_; }
  const metrics::Tally& tally() const { return tally_; }
  bool came() const { return came_; }  ///< true once there were any events, even if they were lost

 private:
  void look();

  std::string name_, why_;
  metrics::Tally tally_;
  std::unique_ptr<inspector::Attachment> attachment_;
  std::vector<Event> events_;
  std::chrono::steady_clock::time_point look_from_{};
  bool came_ = false;
};

}  // namespace canopy::app
