#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace canopy::app {

/// From now on a crash inside a plugin names the plugin on stderr before it ends the process, and a plugin that calls
/// exit() ends it with exit code 1 and a sentence. `_exit` cannot be noticed. Crashes elsewhere are as ever.
void name_plugins_in_trouble();

/// Names on stderr a function of a plugin that does not return within the limit. It watches the thread that makes it,
/// from a thread of its own that looks twice a second.
class HangWatch {
 public:
  explicit HangWatch(std::chrono::milliseconds limit);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace canopy::app
