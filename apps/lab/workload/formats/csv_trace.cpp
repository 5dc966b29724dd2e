/// libCacheSim's CSV (github.com/1a1a11a/libCacheSim): one request per row, with a time in seconds, the object's name
/// and its size. An object is a prompt of `size` tokens that it shares with no other object, so a hit is the same
/// object again. Columns are named by a heading or by TraceOptions::columns; by default they are time, object, size.
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

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

/// Returns the column for a name in a heading.
std::size_t column_named(std::string_view heading) {
  const std::string name = lower(heading);
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
  };
  if (is({"time", "timestamp", "clock_time", "ts"})) return kTime;
  if (is({"id", "obj", "object", "obj_id", "object_id", "key"})) return kId;
  if (is({"size", "obj_size", "object_size", "length", "tokens"})) return kSize;
  if (is({"tenant", "tenant_id", "ns", "namespace"})) return kTenant;
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

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    const bool first = std::exchange(first_, false);
    if (first) {
      for (const char mark : {'\t', ',', '|', ';'})
        if (text.find(mark) != text.npos) {
          separator_ = mark;
          break;
        }
    }
    split(text);
    if (first && heading()) return {Line::other};
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
      double seconds = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), seconds);
      if (error != std::errc() || end != cell.data() + cell.size() || !(seconds >= 0 && seconds <= 1e12))
        return wrong(kTime, "seconds from 0 to 1000000000000");
      const auto at = static_cast<std::uint64_t>(std::llround(seconds * 1000));
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

  void split(std::string_view text) {
    cells_.clear();
    for (;;) {
      std::string_view cell = text.substr(0, text.find(separator_));
      text.remove_prefix(std::min(text.size(), cell.size() + 1));
      const bool last = cell.data() + cell.size() == text.data() + text.size();
      while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
      while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
      if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
      cells_.push_back(cell);
      if (last) return;
    }
  }

  /// Returns true if the first line names the columns: none of its cells begins with a digit.
  bool heading() {
    for (const std::string_view cell : cells_)
      if (!cell.empty() && ((cell[0] >= '0' && cell[0] <= '9') || cell[0] == '-')) return false;
    if (given_) return true;
    Columns found{};
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (const std::size_t which = column_named(cells_[i]); which < kColumns && found[which] == 0)
        found[which] = i + 1;
    if (found[kId] == 0 || found[kSize] == 0) return false;
    columns_ = found;
    return true;
  }

  std::string expected() const override { return "rows of time, object and size"; }

  Columns columns_;
  bool given_, first_ = true;
  char separator_ = ',';
  std::vector<std::string_view> cells_;
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
