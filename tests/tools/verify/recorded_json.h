#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace canopy::verify {

/// An invalid value in a recording. `what()` is an error message.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns a whole number exactly as it is written, or throws BadValue; `called` names it in the message. (nlohmann's
/// get() makes 96 of 96.9, and 4 of 2^32 + 4.)
std::uint64_t whole(const nlohmann::json& value, const std::string& called,
                    std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
std::uint64_t whole_at(const nlohmann::json& object, const char* key,
                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
/// Returns a whole number that may be negative, within [-2^63, 2^63) or narrower.
std::int64_t signed_whole(const nlohmann::json& value, const std::string& called,
                          std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                          std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// Returns a list of 32-bit numbers: tokens or slots.
std::vector<std::uint32_t> numbers(const nlohmann::json& list, const std::string& called);

}  // namespace canopy::verify
