#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

/// Adds the named members to a JSON object, with their names as keys and in this order.
#define CANOPY_PUT(json, value, ...)                                         \
  do {                                                                       \
    nlohmann::ordered_json& nlohmann_json_j = json;                          \
    const auto& nlohmann_json_t = value;                                     \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__)) \
  } while (false)

/// Defines the JSON of a type as an object of the named members. Use it in the type's namespace.
#define CANOPY_TO_JSON(Type, ...)                                                               \
  [[maybe_unused]] static void to_json(nlohmann::ordered_json& to_json_out, const Type& from) { \
    CANOPY_PUT(to_json_out, from, __VA_ARGS__);                                                 \
  }

/// Writes a missing value as null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(ordered_json& json, const std::optional<T>& value) {
    json = value ? ordered_json(*value) : ordered_json(nullptr);
  }
};

namespace canopy {

inline void to_json(nlohmann::ordered_json& json, const Doubt& doubt) {
  json = {{"kind", name_of(doubt.kind)}, {"count", doubt.count}, {"sentence", doubt.sentence}};
}

/// Returns a digest in its JSON form: 16 hexadecimal digits.
std::string hex_of(std::uint64_t digest);

/// Writes `json` to `path`, completely or not at all. Replaces bytes that are not UTF-8.
Result<std::monostate> write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace canopy
