#include "process_memory.h"

#include <unistd.h>

#include <fstream>

namespace canopy::inspector {

std::uint64_t process_memory() {
  std::uint64_t all = 0, resident = 0;
  const long page = ::sysconf(_SC_PAGESIZE);
  if (!(std::ifstream("/proc/self/statm") >> all >> resident) || page <= 0) return 0;
  return resident * static_cast<std::uint64_t>(page);
}

}  // namespace canopy::inspector
