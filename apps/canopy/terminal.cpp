#include "terminal.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "program.h"

namespace canopy::app {
namespace {

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value)
      return std::strstr(value, "UTF-8") || std::strstr(value, "utf8") || std::strstr(value, "UTF8");
  return false;
}

Terminal of(int descriptor) {
  Terminal terminal;
  const char* kind = std::getenv("TERM");
  terminal.moves = isatty(descriptor) != 0 && kind && std::strcmp(kind, "dumb") != 0;
  terminal.colour = terminal.moves && !std::getenv("NO_COLOR");
  terminal.unicode = locale_is_utf8();
  return terminal;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Terminal Terminal::of_stdout() { return of(STDOUT_FILENO); }
Terminal Terminal::of_stderr() { return of(STDERR_FILENO); }

std::string Terminal::wrap(const char* code, std::string_view text) const {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, printable(text)) : printable(text);
}

namespace {
bool g_reader_is_gone = false;
}  // namespace

int print_doubts(const Doubts& doubts, std::FILE* to, const Terminal& terminal) {
  for (const Doubt& doubt : doubts) fmt::print(to, "{} {}\n", terminal.red("doubt:"), printable(doubt.sentence));
  return doubts.empty() ? kFine : kViolations;
}

void print_notes(const std::vector<std::string>& notes, const Terminal& terminal) {
  for (const std::string& note : notes) fmt::print("{} {}\n", terminal.bold("note:"), printable(note));
}

void print_whatever_happens(const std::function<void()>& print) {
  std::signal(SIGPIPE, SIG_IGN);
  int error = 0;
  try {
    print();
    errno = 0;
    if (std::fflush(stdout) != 0) error = errno;
  } catch (const std::system_error& failed) {
    error = failed.code().value();
  }
  g_reader_is_gone = error == EPIPE;
}

void end_without_reader() {
  if (!g_reader_is_gone) return;
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

std::vector<std::string> chart(const std::vector<double>& shares, std::size_t width, std::size_t height, bool unicode) {
  static constexpr const char* kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> columns(std::min(width, shares.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t from = i * shares.size() / columns.size(), to = (i + 1) * shares.size() / columns.size();
    for (std::size_t k = from; k < to; ++k) columns[i] += shares[k] / static_cast<double>(to - from);
  }
  std::vector<std::string> lines;
  for (std::size_t line = height; line-- > 0;) {
    std::string text = line + 1 == height ? "100 % " : line == 0 ? "  0 % " : "      ";
    text += unicode ? "│" : "|";
    for (const double share : columns) {
      const double level = std::clamp(share, 0.0, 1.0) * static_cast<double>(height) - static_cast<double>(line);
      const auto eighths = static_cast<std::size_t>(std::lround(std::clamp(level, 0.0, 1.0) * 8));
      text += unicode ? kEighths[eighths] : eighths >= 6 ? "#" : eighths >= 2 ? "." : " ";
    }
    text.erase(text.find_last_not_of(" ") + 1);
    lines.push_back(std::move(text));
  }
  return lines;
}

namespace {

/// Returns the columns that a text takes: colour sequences take none, and a character of several bytes takes one.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') i = std::min(text.find('m', i), text.size() - 1);
    else columns += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  }
  return columns;
}

/// Breaks the text into lines at spaces, each as long as fits, with an indent from the second line on.
std::string broken(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' ', 1), text.size());  // includes the spaces before the word
    const std::string_view word = text.substr(0, end);
    const std::size_t columns = columns_of(word);
    if (used > 0 && used + columns > width) {
      const std::size_t from = std::min(word.find_first_not_of(' '), word.size());
      lines += "\n" + std::string(indent, ' ') + std::string(word.substr(from));
      used = columns - from;
    } else {
      lines += word;
      used += columns;
    }
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace

void Table::print(const Terminal& terminal, std::size_t width) const {
  std::size_t widest = 0;
  for (const Row& row : rows_) widest = std::max(widest, row.label.size());
  constexpr std::size_t kLeast = 20;  // with less room, lines would be single words
  const std::size_t indent = widest + 4, room = width > indent + kLeast ? width - indent : 0;
  for (const Row& row : rows_)
    fmt::print("  {}  {}\n", terminal.dim(fmt::format("{:<{}}", row.label, widest)),
               room == 0 ? row.value : broken(row.value, room, indent));
}

Grid::Grid(std::vector<std::string> heading, std::vector<std::size_t> widths) : widths_(std::move(widths)) {
  std::vector<Cell> cells;
  for (std::string& text : heading) cells.push_back({std::move(text), "2"});
  widths_.resize(cells.size());
  rows_.push_back(std::move(cells));
}

void Grid::row(std::vector<Cell> cells) {
  constexpr std::size_t kMostCell = 160;  // a name may have any length
  for (Cell& cell : cells) {
    cell.text = printable(cell.text);
    if (&cell == &cells.back() || cell.text.size() <= kMostCell) continue;
    std::size_t end = kMostCell;
    while ((static_cast<unsigned char>(cell.text[end]) & 0xC0) == 0x80) --end;  // within a character
    cell.text = cell.text.substr(0, end) + "...";
  }
  rows_.push_back(std::move(cells));
}

void Grid::print(const Terminal& terminal) const {
  std::vector<std::size_t> widths = widths_;
  for (const auto& cells : rows_)
    for (std::size_t i = 0; cells.size() > 1 && i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].text.size());
  for (const auto& cells : rows_) {
    if (cells.size() == 1) {
      fmt::print("\n{}\n", terminal.bold(cells[0].text));
      continue;
    }
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string gap(widths[i] - cells[i].text.size(), ' ');
      const std::string text = cells[i].colour ? terminal.wrap(cells[i].colour, cells[i].text) : cells[i].text;
      const bool left = i == 0 || i + 1 == cells.size();
      line += "  " + (left ? text + (i + 1 == cells.size() ? "" : gap) : gap + text);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

ProgressBar::ProgressBar(std::string what, std::string unit)
    : terminal_(Terminal::of_stderr()), what_(std::move(what)), unit_(std::move(unit)), start_(now()) {}

void ProgressBar::show(double share, std::uint64_t count) {
  const double at = now(), passed = at - start_;
  if (!terminal_.moves) {
    // Short work prints nothing; long work prints a line for every tenth.
    const int tenths = static_cast<int>(share * 10);
    if (tenths <= tenths_ || passed < 2) return;
    tenths_ = tenths;
    fmt::print(stderr, "{}: {} %, {} {}, {} passed\n", what_, tenths * 10, grouped(count), unit_, seconds(passed));
    return;
  }
  if (at - shown_ < 0.1) return;
  shown_ = at;
  constexpr std::size_t kWidth = 32;
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kWidth);
  std::string bar;
  for (std::size_t i = 0; i < kWidth; ++i)
    bar += i < filled ? (terminal_.unicode ? "█" : "#") : (terminal_.unicode ? "░" : ".");
  const double rate = passed > 0 ? static_cast<double>(count) / passed : 0;
  const std::string left = share > 0.01 ? fmt::format("{} left", seconds(passed / share - passed)) : std::string();
  fmt::print(stderr, "\r\033[K{} {} {:3.0f} %  {} {}/s  {}", what_, bar, share * 100,
             grouped(static_cast<std::uint64_t>(rate)), unit_, left);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace canopy::app
