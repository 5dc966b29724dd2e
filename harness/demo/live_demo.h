#pragma once

#include <canopy/engine/engine.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace canopy::demo {

/// The demo without an end: one seed after the other through an engine of this process, in a thread of its own. The
/// engine publishes a feed in memory and obeys an inspector's commands.
class LiveDemo {
 public:
  static Result<std::unique_ptr<LiveDemo>> make();
  ~LiveDemo();

  FeedHeader& header() { return engine_->feed()->writer().header(); }
  /// Starts the thread. Attach the reader before: it misses what is published earlier. Paced: requests come at their
  /// times, about 20 a second. Not paced: they come as fast as they are served, and wait at the number of `run_to`.
  void start(bool paced);
  /// Lets requests come up to this number, and returns when the last of them has come.
  void run_to(std::uint64_t requests);

 private:
  class Clients;
  LiveDemo() = default;

  Registry registry_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Clients> clients_;
  std::atomic<std::uint64_t> allowed_{0}, waiting_at_{0};
  bool paced_ = false;
  std::jthread thread_;  ///< last: it ends before what it uses
};

}  // namespace canopy::demo
