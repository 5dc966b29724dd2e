/// libCacheSim's CSV (github.com/1a1a11a/libCacheSim): one request per row, with a time in seconds, the object's name
/// and its size. An object is a prompt of `size` tokens that it shares with no other object, so a hit is the same
/// object again. Columns are named by a heading or by TraceOptions::columns; by default they are time, object, size.
#include "../csv_cells.h"
#include "../line_trace.h"
#include "../objects.h"
#include "../shown.h"
#include "../text.h"
#include "../trace_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace canopy::workload {
namespace {

enum : std::size_t { kTime, kId, kSize, kTenant, kColumns };
constexpr std::array<const char*, kColumns> kName = {"time", "id", "size", "tenant"};
/// Column numbers from 1; 0: no such column.
using Columns = std::array<std::size_t, kColumns>;

/// Returns the column for a name in a heading.
std::size_t column_named(const std::string& name) {
  if (is_one_of(name, {"time", "timestamp", "clocktime", "ts", "arrival", "arrivaltime", "arrivedat", "date",
                       "datetime", "at"}))
    return kTime;
  if (is_one_of(name, {"id", "obj", "object", "objid", "objectid", "key"})) return kId;
  if (is_one_of(name, {"size", "objsize", "objectsize", "length", "tokens"})) return kSize;
  if (is_one_of(name, {"tenant", "tenantid", "ns", "namespace"})) return kTenant;
  return kColumns;
}

/// Parses "time=2,id=5,size=4".
Result<Columns> columns_of(const std::string& text) {
  Columns columns{};
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    const std::size_t which =
        static_cast<std::size_t>(std::find(kName.begin(), kName.end(), one.substr(0, equals)) - kName.begin());
    std::uint32_t number = 0;
    if (equals != one.npos) std::from_chars(one.data() + equals + 1, one.data() + one.size(), number);
    if (which == kColumns || number == 0 || number > 1000)
      return Error{
          fmt::format("--columns {}: '{}'; expected time=2,id=5,size=4 and optionally tenant=1, each from 1 to 1000",
                      shown(text), shown(one))};
    columns[which] = number;
  }
  if (columns[kId] == 0 || columns[kSize] == 0)
    return Error{fmt::format("--columns {}: expected at least id and size", shown(text))};
  return columns;
}

class CsvTrace final : public LineTrace {
 public:
  CsvTrace(std::unique_ptr<LineReader> lines, Columns columns, const TraceOptions& options)
      : LineTrace(std::move(lines)), columns_(columns), given_(columns[kId] != 0), objects_(options) {}

  std::vector<std::string> notes() const override {
    if (heading_.empty()) return {};
    return {"the heading (" + heading_ +
            ") names no time that is known, so all times are 0; --columns time=1,id=2,size=3 "
            "says which column it is"};
  }

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    const bool first = std::exchange(first_, false);
    cells_.split(text);
    if (first && heading()) return {Line::other};
    if (first && !given_ && cells_.may_be_heading())
      return {Line::request,
              LineProblem{1,
                          "is a heading without a known column for the object or the size; expected id and size, or "
                          "--columns time=1,id=2,size=3; a file of lengths, without objects or prompts, is read as "
                          "lengths:FILE"}};
    if (first && !given_) columns_ = {1, 2, 3, 0};
    for (std::size_t i = 0; i < kColumns; ++i)
      if (columns_[i] > cells_.size())
        return {Line::request, LineProblem{text.size() + 1, fmt::format("has {} columns; '{}' is column {}",
                                                                        cells_.size(), kName[i], columns_[i])}};
    return {Line::request, take_row(text, record)};
  }

  std::optional<LineProblem> take_row(std::string_view text, TraceRecord& record) {
    const auto wrong = [&](std::size_t column, const char* wanted) {
      const std::string_view cell = cells_[columns_[column] - 1];
      return LineProblem{static_cast<std::size_t>(cell.data() - text.data()) + 1,
                         fmt::format("'{}' is '{}'; expected {}", kName[column], shown(cell), wanted)};
    };
    if (columns_[kTime] != 0) {
      const std::string_view cell = cells_[columns_[kTime] - 1];
      const auto seconds = seconds_of(cell);
      if (!seconds) return wrong(kTime, "seconds from 0 to 1000000000000, or a date such as 2024-05-10 00:00:00.5");
      const auto at = static_cast<std::uint64_t>(std::llround(*seconds * 1000));
      if (!first_ms_) first_ms_ = at;
      record.time_ms = at - std::min(at, *first_ms_);
    }
    const std::string_view size = cells_[columns_[kSize] - 1];
    std::uint64_t amount = 0;
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), amount);
    const std::uint64_t tokens = objects_.tokens(amount);
    if (error != std::errc() || end != size.data() + size.size() || tokens > kMaxPromptTokens)
      return wrong(kSize, "a whole number of tokens from 0 to 20000000");
    const std::string_view name = cells_[columns_[kId] - 1];
    if (name.empty()) return wrong(kId, "an object's name");
    if (columns_[kTenant] != 0) record.space = cells_[columns_[kTenant] - 1];
    objects_.fill(record, std::string(name), tokens);
    return {};
  }

  /// Returns true if the first line names the columns: none of its cells begins with a digit.
  bool heading() {
    if (!cells_.may_be_heading()) return false;
    if (given_) return true;
    Columns found{};
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (const std::size_t which = column_named(cells_.name(i)); which < kColumns && found[which] == 0)
        found[which] = i + 1;
    if (found[kId] == 0 || found[kSize] == 0) return false;
    columns_ = found;
    if (found[kTime] > 0) return true;
    for (std::size_t i = 0; i < cells_.size(); ++i) heading_ += (i ? ", " : "") + shown(cells_[i]);
    return true;
  }

  std::string expected() const override { return "rows of time, object and size"; }

  Columns columns_;
  bool given_, first_ = true;
  CsvCells cells_;
  std::string heading_;  ///< the names of the columns, if none of them is a time
  Objects<std::string> objects_;
  std::optional<std::uint64_t> first_ms_;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_csv_trace(const std::string& path, const TraceOptions& options) {
  Columns columns{};
  if (!options.columns.empty()) {
    auto given = columns_of(options.columns);
    if (!given) return given.error();
    columns = *given;
  }
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(std::make_unique<CsvTrace>(std::move(*lines), columns, options));
}

}  // namespace canopy::workload
