#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::app {

struct FollowArguments {
  std::vector<std::string> endpoints, replays;
  std::string from, name, record;
  std::uint64_t events = 0;  ///< of the feed's ring; 0: as many as it has by itself
  bool tokens = false, repeats_are_reports = false;
};

/// `canopy subscribe` without --print: a feed from KV events. It ends with the recorded stream where that is recorded
/// again, otherwise by a signal.
int follow(const FollowArguments& arguments);

/// The bytes of a recorded stream.
Result<std::string> stream_content(const std::string& path);

}  // namespace canopy::app
