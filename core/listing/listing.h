#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace canopy::listing {

// A listing is the columns of a list, described once. The terminal (apps/canopy/listing_print.h), the window and the
// page (inspector/views/list_table.h), CSV and JSON (below) derive their tables from it.

/// Unit of the numbers of a column, by which each renderer writes them in its own way. Words are left-aligned, all else
/// right-aligned.
enum class Unit : std::uint8_t {
  text,    ///< no numbers, but words
  count,   ///< number that is always shown in full: 144,793,823
  tokens,  ///< number that a narrow column rounds: 144.8 M
  us,      ///< microseconds, shown as a duration: 3 min 20 s
};

/// Part of a whole: 36.2 %. A whole of 0 makes the share unknown.
struct Share {
  std::uint64_t part = 0, whole = 0;
};
/// Difference of two numbers: +1,204, or "=" if there is none.
struct Change {
  double by = 0;
};
/// Difference of two shares, 1 for 100 points: +1.30 points.
struct Points {
  double by = 0;
};

/// Value of a cell. Nothing (std::monostate) is a value that is not known: "-" for people, an empty field in a file.
using Value = std::variant<std::monostate, std::string, std::uint64_t, Share, Change, Points>;

/// Returns the number; nothing if it is 0, where 0 means that it is not known or that there is none.
inline Value unless_zero(std::uint64_t number) { return number == 0 ? Value() : Value(number); }
/// Returns the value as a floating-point number; nothing for words and if it is not known.
std::optional<double> figure_of(const Value& value);
/// Returns the difference from the first to the second; nothing if one of the shares is not known.
Value difference(std::uint64_t first, std::uint64_t second);
Value difference(Share first, Share second);
/// Returns true if there is nothing to see: the value is unknown, empty or 0.
bool is_nothing(const Value& value);
/// Returns true if `a` is listed before `b` in rising order: unknown values, numbers, words by their bytes.
bool is_before(const Value& a, const Value& b);

std::string in_full(const Value& value, Unit unit);   ///< for people, not rounded: 144,793,823
std::string in_brief(const Value& value, Unit unit);  ///< for people, in a narrow column: 144.8 M
std::string in_file(const Value& value);              ///< for programs: 144793823

/// Weight of a cell, shown as a colour where there are colours.
enum class Tone : std::uint8_t { plain, dim, accent, good, warn, bad };

/// A column of a list with rows of type Row. Its functions set a field each and return the column, so that a column is
/// one line.
template <class Row>
struct Column {
  std::optional<std::string> head{};  ///< heading for people; nothing: the column is only in files
  std::optional<std::string> name{};  ///< heading in files; nothing: the column is only for people
  Unit unit = Unit::count;
  std::function<Value(const Row&)> value{};
  std::string short_head{}, help{};  ///< heading where the other is too long; tooltip of the heading. May be empty.
  bool some = false;                 ///< left out for people if it has nothing in all rows
  float room = 0;                    ///< width in a window, in ems; 0: a part of the room that is left
  float least_room = 0;              ///< width of a window's list, in ems, below which the column is left out
  std::function<Tone(const Row&)> tone{};            ///< May be empty (plain).
  std::function<std::string(const Row&)> explain{};  ///< tooltip of a cell; may be empty (none)

  Column& in_files(std::string as) { return name = std::move(as), *this; }
  Column& short_as(std::string words) { return short_head = std::move(words), *this; }
  Column& means(std::string words) { return help = std::move(words), *this; }
  Column& if_any() { return some = true, *this; }
  Column& wide(float ems, float least = 0) { return room = ems, least_room = least, *this; }
  Column& in_tone(std::function<Tone(const Row&)> of) { return tone = std::move(of), *this; }
  Column& in_tone(Tone always) {
    return in_tone([always](const Row&) { return always; });
  }
  Column& explained(std::function<std::string(const Row&)> words) { return explain = std::move(words), *this; }
};

/// The columns of a list, from left to right.
template <class Row>
struct Listing {
  std::vector<Column<Row>> columns;

  /// Adds a column for people.
  Column<Row>& add(std::string head, Unit unit, std::function<Value(const Row&)> value) {
    return columns.emplace_back(Column<Row>{.head = std::move(head), .unit = unit, .value = std::move(value)});
  }
  /// Adds a column that is only in files.
  Column<Row>& add_in_files(std::string name, std::function<Value(const Row&)> value) {
    return columns.emplace_back(Column<Row>{.name = std::move(name), .value = std::move(value)});
  }
};

/// Returns the columns for people: those with a heading that have something to show.
template <class Row, class Rows>
Listing<Row> for_people(const Listing<Row>& listing, const Rows& rows) {
  Listing<Row> people;
  for (const Column<Row>& column : listing.columns)
    if (column.head && (!column.some || !std::all_of(std::begin(rows), std::end(rows),
                                                     [&](const Row& row) { return is_nothing(column.value(row)); })))
      people.columns.push_back(column);
  return people;
}

/// Returns the columns with these headings, in the listing's order.
template <class Row>
Listing<Row> only(const Listing<Row>& listing, std::initializer_list<std::string_view> heads) {
  Listing<Row> some;
  for (const Column<Row>& column : listing.columns)
    if (column.head && std::find(heads.begin(), heads.end(), *column.head) != heads.end())
      some.columns.push_back(column);
  return some;
}

/// Sorts rows by a column; rows with equal values keep their order.
template <class Row, class Rows>
void sort(Rows& rows, const Column<Row>& by, bool falling) {
  // Not std::stable_sort, whose buffer is deprecated in libstdc++ 12.
  std::vector<std::pair<Value, std::size_t>> keys;
  std::vector<Row> given;
  for (Row& row : rows) {
    keys.emplace_back(by.value(row), keys.size());
    given.push_back(std::move(row));
  }
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    const Value &before = falling ? b.first : a.first, &after = falling ? a.first : b.first;
    return is_before(before, after) || (!is_before(after, before) && a.second < b.second);
  });
  auto to = std::begin(rows);
  for (const auto& key : keys) *to++ = std::move(given[key.second]);
}

/// The cells of a list as text. All rows are as long as the heads.
struct Cells {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

/// Returns the cells for people, with all numbers in full.
template <class Row, class Rows>
Cells full_cells(const Listing<Row>& listing, const Rows& rows) {
  const Listing<Row> people = for_people(listing, rows);
  Cells cells;
  for (const Column<Row>& column : people.columns) cells.heads.push_back(*column.head);
  for (const Row& row : rows) {
    std::vector<std::string>& line = cells.rows.emplace_back();
    for (const Column<Row>& column : people.columns) line.push_back(in_full(column.value(row), column.unit));
  }
  return cells;
}

/// Returns the cells of the columns that have a name in files. Numbers are not rounded and have no unit.
template <class Row, class Rows>
Cells file_cells(const Listing<Row>& listing, const Rows& rows) {
  Cells cells;
  for (const Column<Row>& column : listing.columns)
    if (column.name) cells.heads.push_back(*column.name);
  for (const Row& row : rows) {
    std::vector<std::string>& line = cells.rows.emplace_back();
    for (const Column<Row>& column : listing.columns)
      if (column.name) line.push_back(in_file(column.value(row)));
  }
  return cells;
}

/// Returns the cells as CSV (RFC 4180, with LF): a line of heads, then the rows.
std::string csv_of(const Cells& cells);
template <class Row, class Rows>
std::string csv_of(const Listing<Row>& listing, const Rows& rows) {
  return csv_of(file_cells(listing, rows));
}

/// Returns a list of objects, a key for each column that has a name in files. `Json`: as nlohmann::ordered_json.
template <class Json, class Row, class Rows>
Json json_of(const Listing<Row>& listing, const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json& object = list.emplace_back(Json::object());
    for (const Column<Row>& column : listing.columns) {
      if (!column.name) continue;
      const Value value = column.value(row);
      Json& to = object[*column.name];
      if (const auto* words = std::get_if<std::string>(&value)) to = *words;
      else if (const auto* number = std::get_if<std::uint64_t>(&value)) to = *number;
      else if (const std::optional<double> figure = figure_of(value)) to = *figure;
    }
  }
  return list;
}

}  // namespace canopy::listing
