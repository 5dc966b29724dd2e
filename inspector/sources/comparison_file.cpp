#include "comparison_file.h"

#include <canopy/support/printable.h>

#include <nlohmann/json.hpp>

namespace canopy::inspector {
namespace {

using nlohmann::json;

struct Malformed {
  std::string why;
};

constexpr std::size_t kMostRows = 10'000;

/// The value at a key, checked; `where` names its object in messages.
class Object {
 public:
  Object(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw Malformed{where_ + " is " + object.type_name() + ", not an object"};
  }

  const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw Malformed{where_ + " has no '" + key + "'"};
    return *found;
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) wrong(key, value, "text");
    return printable(value.get<std::string>());
  }
  std::uint64_t count(const char* key) const {
    const json& value = at(key);
    if (!value.is_number_unsigned()) wrong(key, value, "a whole number from 0 on");
    return value.get<std::uint64_t>();
  }
  double share(const char* key) const {
    const json& value = at(key);
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1))
      wrong(key, value, "a share from 0 to 1");
    return value.get<double>();
  }

 private:
  [[noreturn]] void wrong(const char* key, const json& value, const char* expected) const {
    throw Malformed{where_ + ": '" + key + "' is " + in_quotes(value.dump(-1, ' ', true)) + ", not " + expected};
  }

  const json& object_;
  std::string where_;
};

ComparedRow row_of(const json& value, std::size_t number) {
  const Object object(value, "row " + std::to_string(number));
  ComparedRow row;
  row.policy = object.text("policy");
  row.page_size = object.count("page_size");
  row.hit_tokens = object.count("hit_tokens");
  row.hit_rate = object.share("hit_rate");
  if (!object.at("capacity_tokens").is_null()) row.capacity = object.count("capacity_tokens");
  if (!object.at("optimum_share").is_null()) row.optimum_share = object.share("optimum_share");
  return row;
}

ComparisonFile file_of(const json& value) {
  const Object object(value, "the comparison");
  ComparisonFile file{object.text("source"), object.count("requests"), object.count("prompt_tokens"), {}};
  const json& rows = object.at("rows");
  if (!rows.is_array()) throw Malformed{std::string("'rows' is ") + rows.type_name() + ", not a list"};
  if (rows.size() > kMostRows) throw Malformed{"'rows' has more than 10,000 rows"};
  for (const json& row : rows) file.rows.push_back(row_of(row, file.rows.size() + 1));
  return file;
}

}  // namespace

Result<ComparisonFile> read_comparison(std::string_view text) {
  try {
    return file_of(json::parse(text));
  } catch (const json::parse_error& error) {
    return Error{"the figures of `canopy compare` are no JSON (byte " + std::to_string(error.byte) + ")"};
  } catch (const Malformed& malformed) {
    return Error{"the figures of `canopy compare` cannot be read: " + malformed.why};
  }
}

}  // namespace canopy::inspector
