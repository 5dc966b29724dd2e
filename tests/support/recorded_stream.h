#pragma once

#include <string>
#include <vector>

namespace recorded {

/// A message of a recorded stream of KV events: the count of its frames, and the length and bytes of each.
inline std::string framed(const std::vector<std::string>& frames) {
  std::string bytes;
  const auto number = [&](std::size_t value) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  number(frames.size());
  for (const std::string& frame : frames) number(frame.size()), bytes += frame;
  return bytes;
}

}  // namespace recorded
