#pragma once

#include <canopy/engine/engine.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace canopy::inspector {

/// An engine of this process that serves the workload of `canopy demo` again and again, writes a feed and takes
/// controls. It runs in a thread of its own, as fast as its clients ask.
class DemoEngine {
 public:
  static Result<std::unique_ptr<DemoEngine>> make();
  ~DemoEngine();

  FeedHeader& header() { return engine_->feed()->writer().header(); }
  /// Starts it. A reader should be there already, or it misses the beginning. With `paced`, requests come at their
  /// times, about 20 a second; without, they come as fast as they can until `run_to`, and wait there.
  void start(bool paced);
  /// Lets requests come until there have been so many, as fast as possible; returns when the last one has come.
  void run_to(std::uint64_t requests);

 private:
  class Clients;
  DemoEngine() = default;

  Registry registry_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Clients> clients_;
  std::atomic<std::uint64_t> allowed_{0}, waiting_at_{0};
  bool paced_ = false;
  std::jthread thread_;  ///< last, so that it ends before what it uses
};

}  // namespace canopy::inspector
