#pragma once

#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace canopy::slots {

/// Starts `count` threads that call `work`, or as many as the system allows. Throws if it allows none.
template <class Work>
void start_threads(std::vector<std::thread>& threads, unsigned count, const Work& work) {
  threads.reserve(count);
  for (unsigned i = 0; i < count; ++i) try {
      threads.emplace_back(work);
    } catch (const std::exception&) {  // no thread, or no memory for one
      if (threads.empty()) throw std::runtime_error("the system starts no thread for its reads and writes");
      return;
    }
}

}  // namespace canopy::slots
