#include "recorded_json.h"

#include <fmt/format.h>

namespace canopy::verify {
namespace {

using nlohmann::json;

/// Returns a value for a message, shortened.
std::string shown(const json& value) {
  constexpr std::size_t kShown = 40;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

}  // namespace

std::uint64_t whole(const json& value, const std::string& called, std::uint64_t most) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return value;
  throw BadValue(fmt::format("'{}' is {}; expected a whole number from 0 to {}", called, shown(value), most));
}

std::uint64_t whole_at(const json& object, const char* key, std::uint64_t most) {
  return whole(object.at(key), key, most);
}

std::int64_t signed_whole(const json& value, const std::string& called, std::int64_t least, std::int64_t most) {
  // An integer that is not unsigned is negative and fits; an unsigned one may exceed every signed one.
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                               : value.is_number_integer() && value.get<std::int64_t>() >= least;
  if (fits) return value;
  throw BadValue(fmt::format("'{}' is {}; expected a whole number from {} to {}", called, shown(value), least, most));
}

std::vector<std::uint32_t> numbers(const json& list, const std::string& called) {
  if (!list.is_array())
    throw BadValue(fmt::format("'{}' is {}; expected a list of whole numbers", called, shown(list)));
  std::vector<std::uint32_t> all;
  all.reserve(list.size());
  for (const json& value : list)
    all.push_back(static_cast<std::uint32_t>(whole(value, called, std::numeric_limits<std::uint32_t>::max())));
  return all;
}

}  // namespace canopy::verify
