#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

// Lines that Python programs log: values as repr() writes them, where any text may stand within quotes.

/// Where what follows `name` begins, outside of quoted texts; npos if it is not there. `name` may be a quoted key
/// itself. Nothing before `from` is looked at.
std::size_t after(std::string_view line, std::string_view name, std::size_t from);

/// What is wrong with a list of whole numbers at `at`, which is filled into `out`; `at` then is behind it. Nothing if
/// it is one, and `None` is no list: `out` is empty, `there` is false.
struct LoggedList {
  bool there = false;
  std::size_t column = 0;  ///< of what is wrong, from 1
  std::string problem{};   ///< empty: nothing is wrong
};
LoggedList read_list(std::string_view line, std::size_t at, std::vector<std::uint64_t>& out);

/// A quoted text, without escapes taken away; empty if there is none.
std::string_view quoted(std::string_view line, std::size_t at);

/// The time of day that a line begins with: "08-06 10:19:36", "2026-08-06 10:19:36.125", "2026-08-06T10:19:36". In
/// milliseconds since the year began; the year is not looked at.
std::optional<std::uint64_t> logged_time(std::string_view line);

/// Milliseconds since the first line, from times that do not have a year.
class LogClock {
 public:
  /// The last time again where the line has none.
  std::uint64_t read(std::string_view line);

 private:
  std::optional<std::uint64_t> last_;
  std::uint64_t now_ = 0;
};

}  // namespace canopy::workload
