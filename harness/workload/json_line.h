#pragma once

#include "line_problem.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

/// What a format wants from a line's JSON object.
struct JsonField {
  enum class Kind {
    whole,    ///< from 0 to `most`
    integer,  ///< from -`most` to `most`
    number,   ///< from 0 to `most`, with or without a point
    text,
    wholes,  ///< a list of whole numbers, each from 0 to `most`
    hints,   ///< a whole number of bits, or a list of their names (hints.h)
  };
  const char* path;  ///< "timestamp", or within objects "out.meta_info.completion_tokens"
  Kind kind;
  std::uint64_t most = 0;
  const char* what = "";    ///< the unit: "tokens"
  bool required = false;    ///< null and absent are the same
  const char* advice = "";  ///< what may have gone wrong if the value is of another kind
};

/// What was found.
struct JsonValue {
  bool seen = false;
  std::size_t column = 0;  ///< of its key; 0 unless the line is being complained of
  std::int64_t integer = 0;
  std::uint64_t whole = 0;
  double number = 0;
  std::string text;
  std::vector<std::uint64_t> wholes;
  std::uint64_t whole_or(std::uint64_t absent) const { return seen ? whole : absent; }
};

/// Reads one object a line, field by field, reusing its storage. Strict: JSON as in RFC 8259, at most 64 levels deep,
/// each field once and in its range. Other keys are passed over, or refused.
class JsonLine {
 public:
  /// `fields` outlives this. `closed`: a key that is no field's is an error, except "extra" with all that is in it.
  explicit JsonLine(std::span<const JsonField> fields, bool closed = false);

  /// Nothing if the line can be used.
  std::optional<LineProblem> read(std::string_view line);
  /// REQUIRES: the last line could be used.
  JsonValue& operator[](std::size_t field) { return values_[field]; }

  /// A problem with a field of the line that was read last: `text` goes on after its name.
  LineProblem about(std::string_view line, std::size_t field, const std::string& text);

 private:
  std::optional<LineProblem> parse(std::string_view line, bool columns);

  std::span<const JsonField> fields_;
  std::vector<JsonValue> values_;
  bool closed_;
};

}  // namespace canopy::workload
