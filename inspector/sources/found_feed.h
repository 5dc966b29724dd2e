#pragma once

#include <cstdint>
#include <string>

namespace canopy::inspector {

/// A feed in shared memory before a reader attaches.
struct FoundFeed {
  std::string name;
  std::uint64_t process = 0;
  std::string program;  ///< name of the process's program; empty if unknown
  std::uint32_t page_size = 0, groups = 0;
  bool controls = false;
  std::string ended;    ///< reason why it has ended; empty: a reader can attach
  bool tokens = false;  ///< true if it contains tokens of prompts
};

}  // namespace canopy::inspector
