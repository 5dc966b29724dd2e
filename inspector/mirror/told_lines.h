#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace canopy::inspector {

/// The fields of a line that a feed told, apart by tabs.
std::vector<std::string_view> fields_of(std::string_view line);

/// A server in a feed that is made from KV events (TextKind::worker). Another process wrote the line: a field that is
/// not there is empty, and a figure that is no number is 0. REQUIRES: the line lives as long.
struct WorkerLine {
  explicit WorkerLine(std::string_view line);

  std::string_view name, state;
  std::uint64_t tokens = 0;  ///< cached
  std::uint64_t shared = 0;  ///< of these, cached by at least one other server as well
};

}  // namespace canopy::inspector
