#pragma once

#include <canopy/feed/reader.h>
#include <fmt/format.h>
#include <mirror/mirror.h>
#include <support/engines.h>

#include <string>

namespace canopy::test {

/// Reads what a feed of this process has, as an inspector does.
struct Watcher {
  explicit Watcher(Engine& engine)
      : reader(engine.feed()->writer().header()), mirror(engine.feed()->writer().header()) {}
  void look() {
    Event events[512];
    std::size_t count = 0;
    for (;;) {
      const auto outcome = reader.read(events, std::size(events), count);
      if (outcome == FeedReader::Outcome::nothing) return;
      if (outcome == FeedReader::Outcome::lapped) mirror.lost(), ++laps;
      else mirror.take({events, count});
    }
  }
  FeedReader reader;
  inspector::Mirror mirror;
  int laps = 0;
};

inline std::string yaml(const char* groups, const char* accounting, const char* codec, const char* feed) {
  return fmt::format("page_size: 4\nkey: {}\nindex: {{ radix: {{ accounting: {} }} }}\ngroups:\n{}feed: {}\n", codec,
                     accounting, groups, feed);
}

inline constexpr const char* kFull = "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n";
inline constexpr const char* kAll =
    "  full: { reach: path, capacity: 800, allocator: free_list, eviction: slru }\n"
    "  window: { reach: 10, capacity: 400, allocator: contiguous, eviction: lru }\n"
    "  state: { reach: 1, every: 12, capacity: 400, allocator: free_list, eviction: clock }\n";

}  // namespace canopy::test
