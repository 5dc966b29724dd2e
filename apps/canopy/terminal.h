#pragma once

#include <canopy/base/doubts.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::app {

/// Capabilities of the output: a moving cursor only on a terminal, colour there unless NO_COLOR is set, block
/// characters if the locale is UTF-8.
struct Terminal {
  bool moves = false, colour = false, unicode = false;
  static Terminal of_stdout();
  static Terminal of_stderr();

  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string yellow(std::string_view text) const { return wrap("33", text); }
  /// Returns the text, filtered by printable(), in a colour if the output has colours. REQUIRES: the text contains no
  /// wrapped part.
  std::string wrap(const char* code, std::string_view text) const;
};

/// Calls `print`, and returns even if standard output can no longer be written, because a disk is full or the reader of
/// a pipe has ended: output to other files must not be lost as well. main() reports the error at the end.
void print_whatever_happens(const std::function<void()>& print);
/// Ends the process by SIGPIPE if the reader of its standard output has ended, as is usual; otherwise returns.
void end_without_reader();

/// Draws shares 0..1 as a chart of `height` lines with a scale, for a hit rate over time. Returns the lines.
std::vector<std::string> chart(const std::vector<double>& shares, std::size_t width, std::size_t height, bool unicode);

/// Prints a line for each doubt of the figures. Returns the exit code of a command that has no other verdict:
/// kViolations if there is a doubt, otherwise kFine.
int print_doubts(const Doubts& doubts, std::FILE* to, const Terminal& terminal);
/// Prints a line for each note.
void print_notes(const std::vector<std::string>& notes, const Terminal& terminal);

/// Rows of label and value; all labels are as wide as the widest. Labels are printed filtered by printable(). Values
/// may be wrapped, so their external parts must already be printable.
class Table {
 public:
  void row(std::string label, std::string value) { rows_.push_back({std::move(label), std::move(value)}); }
  /// Prints the rows. Breaks values between words if they are wider than what `width` columns leave for them; 0: breaks
  /// none.
  void print(const Terminal& terminal, std::size_t width = 0) const;

 private:
  struct Row {
    std::string label, value;
  };
  std::vector<Row> rows_;
};

/// Rows of cells under a heading: the first and the last column left-aligned, figures right-aligned, each column as
/// wide as its widest cell. A cell longer than 160 bytes is shortened; the last column may have any length. Cells are
/// printed filtered by printable().
class Grid {
 public:
  struct Cell {
    std::string text;
    const char* colour = nullptr;  ///< code for Terminal::wrap; null: plain
  };
  /// `widths`: least characters of the first columns.
  explicit Grid(std::vector<std::string> heading, std::vector<std::size_t> widths = {});
  /// Adds a row. REQUIRES: as many cells as the heading has.
  void row(std::vector<Cell> cells);
  /// Adds a title line above the rows that follow.
  void section(std::string title) { rows_.push_back({{std::move(title), nullptr}}); }
  void print(const Terminal& terminal) const;

 private:
  std::vector<std::vector<Cell>> rows_;  ///< heading first; a row of one cell is a title
  std::vector<std::size_t> widths_;      ///< least characters of each column
};

/// Shows the progress of long work on stderr: on a terminal a bar with rate and remaining time, otherwise a line for
/// every tenth.
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
