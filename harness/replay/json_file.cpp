#include "json_file.h"

#include <canopy/support/atomic_file.h>

#include <nlohmann/json.hpp>

namespace canopy::replay {

Result<std::monostate> write_json(const std::string& path, const nlohmann::ordered_json& json) {
  return write_file_atomically(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace canopy::replay
