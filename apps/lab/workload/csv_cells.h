#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

/// The cells of the rows of a CSV. The first row decides which of tab, comma, bar and semicolon is between them.
class CsvCells {
 public:
  /// Splits a row. The cells are valid as long as `text`, without spaces around them and without their quotes.
  void split(std::string_view text);
  std::size_t size() const { return cells_.size(); }
  std::string_view operator[](std::size_t i) const { return cells_[i]; }
  /// Returns true if the row may be a heading: none of its cells begins with a digit.
  bool may_be_heading() const;
  /// Returns a cell in lower case without spaces, underscores and hyphens, to compare it with names.
  std::string name(std::size_t i) const;

 private:
  char separator_ = 0;
  std::vector<std::string_view> cells_;
};

/// Returns the seconds that a cell stands for: a number from 0 to 1e12, or a date with a time of day such as
/// 2024-05-10 00:00:00.009930+00:00, as seconds since 1970. Without a zone it is UTC. Nothing: it is neither.
std::optional<double> seconds_of(std::string_view cell);

}  // namespace canopy::workload
