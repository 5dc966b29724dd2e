#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace canopy::app {

/// From now on, a crash inside a plugin prints the plugin's name on stderr before it ends the process, and a plugin
/// that calls exit() ends the process with exit code 1 and an error message. `_exit` cannot be detected. Crashes
/// elsewhere are not affected.
void name_plugins_in_trouble();

/// Prints the name of a plugin's function that does not return within the limit. Watches the thread that creates it,
/// from its own thread, twice a second.
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
