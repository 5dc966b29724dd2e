#pragma once

#include <canopy/base/result.h>
#include <sources/feed_source.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "outbox.h"
#include "pieces.h"
#include "protocol.h"

namespace canopy::inspector {

/// Passes one feed to any number of pages. The engine pays for one reader, and for none while no page watches.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;
  using Open = std::function<Result<std::unique_ptr<FeedSource>>()>;
  /// `open` attaches to the feed. It is called while a page watches and there is no feed.
  Channel(std::string name, Open open, protocol::Limits limits)
      : name_(std::move(name)), open_(std::move(open)), limits_(limits), events_(kRead) {}

  const std::string& name() const { return name_; }
  /// Attaches to the feed, unless it is attached. Returns an error if that fails.
  Result<std::monostate> attach(Clock::time_point now);
  /// Adds a page. It receives the feed, or the reason why there is none. REQUIRES: the outbox leaves before it ends.
  void join(Outbox& page, Clock::time_point now);
  void leave(Outbox& page);
  /// Passes on the events that have arrived. While there is no feed, looks for it. Detaches when no page watches.
  void step(Clock::time_point now);
  /// Returns the feed, to send a command; null if there is none now.
  FeedSource* source() { return source_.get(); }
  bool watched() const { return !pages_.empty(); }

 private:
  static constexpr std::size_t kRead = 8192;                       // events of a read
  static constexpr std::chrono::milliseconds kAtOnce{20};          // time to read in a step
  static constexpr std::size_t kMostBegun = std::size_t{1} << 26;  // events of an operation; more: the feed is damaged

  void read();
  void lose();
  void end(const std::string& why);
  void want_keyframe(Clock::time_point now);

  std::string name_;
  Open open_;
  protocol::Limits limits_;
  std::set<Outbox*> pages_;
  std::unique_ptr<FeedSource> source_;
  Pieces pieces_;
  std::vector<Event> events_;
  std::string why_gone_;  ///< reason that the pages have received why there is no feed
  std::string looked_;    ///< reason why the last look found no feed; empty: none since the feed was there
  Clock::time_point look_from_{};
  Clock::time_point wanted_at_{};  ///< time of the last request for a keyframe
  bool keyframe_comes_ = false;    ///< true from a request for a keyframe to its arrival
};

}  // namespace canopy::inspector
