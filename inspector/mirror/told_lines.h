#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace canopy::inspector {

/// Returns the fields of a line of the feed, separated by tabs.
std::vector<std::string_view> fields_of(std::string_view line);

/// A server in a feed made from KV events (TextKind::worker). Another process wrote the line: a missing field is empty,
/// and an invalid number is 0. REQUIRES: the line outlives the object.
struct WorkerLine {
  explicit WorkerLine(std::string_view line);

  std::string_view name, state;
  std::uint64_t tokens = 0;  ///< cached tokens
  std::uint64_t shared = 0;  ///< cached tokens that at least one other server has too
};

}  // namespace canopy::inspector
