#pragma once

#include <metrics/tally.h>
#include <sources/attachment.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace canopy::app {

/// Reads a feed for as long as it takes: waits while there is none of its name, and finds it again after its end.
class FeedFollower {
 public:
  /// At most `tenants` namespaces have figures of their own.
  FeedFollower(std::string name, std::size_t tenants);

  /// Takes what has come, at most some milliseconds of it. Looks for the feed where there is none, now and then.
  void step();
  /// Why there is no feed now; empty while there is one.
  const std::string& why() const { return why_; }
  const metrics::Tally& tally() const { return tally_; }

 private:
  void look();

  std::string name_, why_;
  metrics::Tally tally_;
  std::unique_ptr<inspector::Attachment> attachment_;
  std::vector<Event> events_;
  std::chrono::steady_clock::time_point look_from_{};
};

}  // namespace canopy::app
