#pragma once

#include <canopy/engine/engine.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace canopy::demo {

/// An endless demo: runs one seed after another through an engine of this process, in its own thread. The engine
/// publishes a feed in memory and obeys an inspector's commands.
class LiveDemo {
 public:
  static Result<std::unique_ptr<LiveDemo>> make();
  ~LiveDemo();

  FeedHeader& header() { return engine_->feed()->writer().header(); }
  /// Starts the thread. Attach the reader first: it misses anything published earlier. Paced: requests arrive at their
  /// times, about 20 a second. Not paced: they arrive as fast as they are served, and stop at the number of `run_to`.
  void start(bool paced);
  /// Allows requests up to this number, and returns when the last of them has arrived.
  void run_to(std::uint64_t requests);

 private:
  class Clients;
  LiveDemo() = default;

  Registry registry_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Clients> clients_;
  std::atomic<std::uint64_t> allowed_{0}, waiting_at_{0};
  bool paced_ = false;
  std::jthread thread_;  ///< last member: it ends before the members that it uses
};

}  // namespace canopy::demo
