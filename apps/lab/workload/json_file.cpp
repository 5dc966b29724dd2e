#include "json_file.h"

#include <canopy/base/atomic_file.h>
#include <fmt/format.h>

namespace canopy {

std::string hex_of(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

Result<std::monostate> write_json(const std::string& path, const nlohmann::ordered_json& json) {
  return write_file_atomically(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace canopy
