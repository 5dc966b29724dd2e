#pragma once

#include "line_problem.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

/// A field that a format reads from the JSON object of a line.
struct JsonField {
  enum class Kind {
    whole,    ///< from 0 to `most`
    integer,  ///< from -`most` to `most`
    number,   ///< from 0 to `most`, with or without a point
    text,
    name,    ///< a text, or a whole number, which is kept as its digits
    wholes,  ///< a list of whole numbers, each from 0 to `most`
    ids,     ///< as `wholes`; other whole numbers of 64 bits and texts stand for the number that id_print gives them
    hints,   ///< a whole number of bits, or a list of their names (hints.h)
    rows,    ///< a list of at most `most` objects; the fields of an object have paths like "retention[].tokens"
  };
  const char* path;  ///< "timestamp", or within objects "out.meta_info.completion_tokens"
  Kind kind;
  std::uint64_t most = 0;
  const char* what = "";  ///< unit: "tokens"
  bool required = false;  ///< neither absent nor null
  // For Kind::wholes and Kind::ids:
  const char* item = "item";
  std::uint64_t kept = 0;       ///< Items to keep; more are only counted. 0: more than kMaxPromptTokens are refused.
  const char* other = nullptr;  ///< A second name; a line with both has the same value twice. Null: it has one name.
  bool guarded = false;         ///< May be absent, but a key with a similar name is refused as a misspelling.
  bool filled = false;          ///< May be absent, but not null.
};

/// Returns the number below `most` that stands for an id which is no whole number from 0 to `most`: a hash of 64 bits,
/// a signed number, a text. Equal ids have equal numbers; two others share one with a probability of 1 in `most`.
std::uint64_t id_print(std::uint64_t id, std::uint64_t most);
std::uint64_t id_print(std::string_view id, std::uint64_t most);

/// Differences between formats, other than their fields.
struct JsonStyle {
  bool closed = false;       ///< unknown keys are errors, except "extra" with its content; those of rows always are
  std::size_t deepest = 64;  ///< Most levels of objects and lists.
  const char* wanted = "expected an object";
};

/// The value of a field.
struct JsonValue {
  bool seen = false;
  std::size_t column = 0;  ///< Column of its key. 0 unless the line has a problem.
  std::int64_t integer = 0;
  std::uint64_t whole = 0;  ///< For Kind::wholes: the number of items.
  double number = 0;
  std::string text;
  std::vector<std::uint64_t> wholes;
  std::vector<JsonValue> items{};  ///< For Kind::rows: the fields of the first object, in order, then of the next.
  std::uint64_t whole_or(std::uint64_t absent) const { return seen ? whole : absent; }
};

/// Reads one object per line, field by field, reusing its storage. Strict: JSON as in RFC 8259, limited depth, each
/// name once and its value in its range. A null stands for an absent field. Other keys are skipped or refused.
class JsonLine {
 public:
  /// REQUIRES: `fields` outlives this.
  explicit JsonLine(std::span<const JsonField> fields, const JsonStyle& style = {});

  /// Reads a line. Returns nothing if it can be used.
  std::optional<LineProblem> read(std::string_view line);
  /// Returns the value of a field. REQUIRES: the last line could be used.
  JsonValue& operator[](std::size_t field) { return values_[field]; }

  /// Returns a problem with a field of the latest line. `text` follows the name of the field.
  LineProblem about(std::string_view line, std::size_t field, const std::string& text);

 private:
  std::optional<LineProblem> parse(std::string_view line, bool columns);

  std::span<const JsonField> fields_;
  std::vector<JsonValue> values_;
  JsonStyle style_;
};

}  // namespace canopy::workload
