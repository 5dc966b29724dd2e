#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::app {

/// What the output can show: a moving cursor on a terminal only, colour there unless NO_COLOR is set, block characters
/// where the locale is UTF-8.
struct Terminal {
  bool moves = false, colour = false, unicode = false;
  static Terminal of_stdout();
  static Terminal of_stderr();

  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string yellow(std::string_view text) const { return wrap("33", text); }
  /// The text as printable() writes it, in the colour where there are colours. REQUIRES: nothing wrapped is in it.
  std::string wrap(const char* code, std::string_view text) const;
};

/// Calls `print`, and returns also where standard output takes no more, because a disk is full or the reader of a pipe
/// has ended: what is still to be written elsewhere must not be lost with it. main() says so at the end.
void print_whatever_happens(const std::function<void()>& print);
/// Ends a process whose standard output lost its reader as such processes end, by SIGPIPE; else returns.
void end_without_reader();

/// Shares 0..1 as a chart of `height` lines under a scale, for a hit rate over time.
std::vector<std::string> chart(const std::vector<double>& shares, std::size_t width, std::size_t height, bool unicode);

/// Rows of label and value, the labels as wide as the widest. Labels are printed as printable() has them; values may be
/// wrapped, so their parts from outside must be printable before.
class Table {
 public:
  void row(std::string label, std::string value) { rows_.push_back({std::move(label), std::move(value)}); }
  /// A value that is wider than what `width` columns leave for it is broken between words; 0: none is.
  void print(const Terminal& terminal, std::size_t width = 0) const;

 private:
  struct Row {
    std::string label, value;
  };
  std::vector<Row> rows_;
};

/// Rows of cells under a heading, the first column to the left and figures to the right, each column as wide as its
/// widest cell. The last column may be of any length. Cells are printed as printable() has them.
class Grid {
 public:
  struct Cell {
    std::string text;
    const char* colour = nullptr;  ///< as Terminal::wrap takes it; null: plain
  };
  explicit Grid(std::vector<std::string> heading);
  /// REQUIRES: as many cells as the heading has.
  void row(std::vector<Cell> cells);
  /// A line of its own, above the rows that follow.
  void section(std::string title) { rows_.push_back({{std::move(title), nullptr}}); }
  void print(const Terminal& terminal) const;

 private:
  std::vector<std::vector<Cell>> rows_;  ///< the heading first; a row of one cell is a title
};

/// Progress of long work on stderr: a bar with rate and time left on a terminal, a line every tenth otherwise.
class ProgressBar {
 public:
  ProgressBar(std::string what, std::string unit);
  ~ProgressBar() { clear(); }
  void show(double share, std::uint64_t count);
  void clear();

 private:
  Terminal terminal_;
  std::string what_, unit_;
  double start_, shown_ = -1;
  int tenths_ = 0;
  bool drawn_ = false;
};

}  // namespace canopy::app
