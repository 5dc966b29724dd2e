#pragma once

#include <fmt/format.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>
#include <support/engines.h>
#include <support/random_requests.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace canopy::test {

inline std::string own_name(const char* what) { return fmt::format("test-{}-{}", what, ::getpid()); }

inline std::string yaml(const std::string& feed) {
  return "page_size: 4\ngroups:\n"
         "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
         "  window: { reach: 10, capacity: 400, allocator: free_list, eviction: lru }\n"
         "store: { host: { streams: { kv: 8 } } }\nfeed: " +
         feed + "\n";
}

/// Reads until `enough` commits have been mirrored, or nothing comes for three seconds. Drift is a failure.
inline std::uint64_t follow(FeedReader& reader, inspector::Mirror& mirror, std::uint64_t enough) {
  Event events[300];  // no whole number of anything
  for (auto idle = std::chrono::milliseconds(0); idle < std::chrono::seconds(3) && mirror.commits() < enough;) {
    std::size_t count = 0;
    const auto outcome = reader.read(events, std::size(events), count);
    if (outcome == FeedReader::Outcome::lapped) mirror.lost();
    if (outcome == FeedReader::Outcome::events) mirror.take({events, count});
    if (mirror.in_step() && mirror.drift() != 0) return 0;
    if (outcome != FeedReader::Outcome::nothing) idle = std::chrono::milliseconds(0);
    else std::this_thread::sleep_for(std::chrono::milliseconds(1)), idle += std::chrono::milliseconds(1);
  }
  return mirror.commits();
}

/// A process that runs requests under a feed of shared memory until it is killed.
inline pid_t writer_of(const std::string& name, std::uint64_t events) {
  const auto engine = engine_of(yaml("{ off: {} }"));  // plugins are loaded before the fork
  const pid_t child = ::fork();
  if (child != 0) return child;
  const auto published =
      engine_of(yaml(fmt::format("{{ shm: {{ name: {}, events: {}, controls: true }} }}", name, events)));
  RandomRequests requests(*published, plugins(), 11, 2);
  for (;;) {
    if (published->poll()) requests.run(1);
    else std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline std::unique_ptr<inspector::Attachment> attach(const std::string& name) {
  for (int tries = 0; tries < 5'000; ++tries) {
    if (auto attachment = inspector::Attachment::attach(name)) return std::move(*attachment);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return nullptr;
}

}  // namespace canopy::test
