#include "csv_cells.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace canopy::workload {
namespace {

/// Takes a number of `digits` digits from the beginning of `text`, and the character `behind` if it is not 0.
std::optional<int> take_number(std::string_view& text, std::size_t digits, char behind) {
  int number = 0;
  if (text.size() < digits + (behind != 0)) return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc() || end != text.data() + digits || number < 0) return {};
  if (behind != 0 && text[digits] != behind) return {};
  text.remove_prefix(digits + (behind != 0));
  return number;
}

/// Returns the seconds by which the zone at the end of a date is ahead of UTC.
std::optional<int> zone_of(std::string_view text) {
  if (text.empty() || text == "Z" || text == " UTC") return 0;
  const int sign = text[0] == '+' ? 1 : text[0] == '-' ? -1 : 0;
  text.remove_prefix(1);
  if (sign == 0) return {};
  const auto hours = take_number(text, 2, 0);
  if (hours && text.starts_with(':')) text.remove_prefix(1);
  const auto minutes = text.empty() && hours ? std::optional<int>(0) : take_number(text, 2, 0);
  if (!hours || !minutes || !text.empty()) return {};
  return sign * (*hours * 3600 + *minutes * 60);
}

}  // namespace

void CsvCells::split(std::string_view text) {
  if (separator_ == 0) {
    separator_ = ',';
    for (const char mark : {'\t', ',', '|', ';'})
      if (text.find(mark) != text.npos) {
        separator_ = mark;
        break;
      }
  }
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

bool CsvCells::may_be_heading() const {
  return std::none_of(cells_.begin(), cells_.end(), [](std::string_view cell) {
    return !cell.empty() && ((cell[0] >= '0' && cell[0] <= '9') || cell[0] == '-');
  });
}

std::string CsvCells::name(std::size_t i) const {
  std::string name;
  for (const char c : cells_[i])
    if (c != ' ' && c != '_' && c != '-') name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

std::optional<double> seconds_of(std::string_view cell) {
  constexpr double kMost = 1e12;
  double seconds = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), seconds);
  if (error == std::errc() && end == cell.data() + cell.size() && !cell.empty())
    return seconds >= 0 && seconds <= kMost ? std::optional<double>(seconds) : std::nullopt;
  using namespace std::chrono;
  const auto years = take_number(cell, 4, '-'), months = years ? take_number(cell, 2, '-') : std::nullopt,
             days = months ? take_number(cell, 2, 0) : std::nullopt;
  if (!days || cell.empty() || (cell[0] != ' ' && cell[0] != 'T')) return {};
  cell.remove_prefix(1);
  const auto hours = take_number(cell, 2, ':'), minutes = hours ? take_number(cell, 2, ':') : std::nullopt,
             whole = minutes ? take_number(cell, 2, 0) : std::nullopt;
  const year_month_day date{year(*years), month(static_cast<unsigned>(*months)), day(static_cast<unsigned>(*days))};
  if (!whole || !date.ok() || *hours > 23 || *minutes > 59 || *whole > 60) return {};
  double fraction = 0;
  if (cell.starts_with('.') || cell.starts_with(',')) {
    double place = 0.1;
    for (cell.remove_prefix(1); !cell.empty() && cell[0] >= '0' && cell[0] <= '9'; cell.remove_prefix(1), place /= 10)
      fraction += place * (cell[0] - '0');
  }
  const auto zone = zone_of(cell);
  if (!zone) return {};
  const double since = static_cast<double>(sys_days(date).time_since_epoch().count()) * 86'400 + *hours * 3600.0 +
                       *minutes * 60.0 + *whole + fraction - *zone;
  return since >= 0 && since <= kMost ? std::optional<double>(since) : std::nullopt;
}

}  // namespace canopy::workload
