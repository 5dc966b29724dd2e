#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::inspector {

/// Returns the fields of a line of the feed, separated by tabs.
std::vector<std::string_view> fields_of(std::string_view line);

/// A server in a feed made from KV events (TextKind::worker). Another process wrote the line: a missing field is empty,
/// and an invalid number is 0. REQUIRES: the line outlives the object.
struct WorkerLine {
  explicit WorkerLine(std::string_view line);
  /// Returns in words whether its events arrive, and how many were missed.
  std::string events() const;

  std::string_view name, state;
  std::string_view lost;     ///< reason why its events have stopped; empty while they arrive
  std::uint64_t tokens = 0;  ///< cached tokens
  std::uint64_t shared = 0;  ///< cached tokens that at least one other server has too
};

/// Returns the number of servers whose events have stopped, of lines as in Mirror::workers().
std::size_t servers_lost(const std::vector<std::string>& lines);

}  // namespace canopy::inspector
