#include "log_text.h"

#include "shown.h"
#include "text.h"

#include <fmt/format.h>

#include <canopy/types.h>
#include <array>
#include <charconv>
#include <limits>

namespace canopy::workload {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Behind the text whose opening quote is at `at`; the end of the line if it is never closed.
std::size_t behind_quotes(std::string_view line, std::size_t at) {
  const char quote = line[at];
  for (std::size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == '\\') ++i;
    else if (line[i] == quote) return i + 1;
  }
  return line.size();
}

/// `count` digits at `at` as a number; nothing if there are fewer.
std::optional<std::uint64_t> digits(std::string_view line, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= line.size() || !is_digit(line[i])) return {};
    value = value * 10 + static_cast<std::uint64_t>(line[i] - '0');
  }
  return value;
}

}  // namespace

std::size_t after(std::string_view line, std::string_view name, std::size_t from) {
  for (std::size_t i = from; i < line.size();) {
    if (line.substr(i).starts_with(name) && (i == 0 || !is_word(line[i - 1]))) return i + name.size();
    i = line[i] == '\'' || line[i] == '"' ? behind_quotes(line, i) : i + 1;
  }
  return line.npos;
}

LoggedList read_list(std::string_view line, std::size_t at, std::vector<std::uint64_t>& out) {
  out.clear();
  const auto wrong = [&](std::string what) { return LoggedList{true, at + 1, std::move(what)}; };
  if (at < line.size() && line[at] == '(') ++at;  // a tuple
  else if (at >= line.size() || line[at] != '[') return {};
  else ++at;
  for (;;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == ',')) ++at;
    if (at >= line.size()) return wrong("ends in the middle of its token ids; was the line cut off?");
    if (line[at] == ']' || line[at] == ')') break;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), value);
    if (error != std::errc() || value > std::numeric_limits<Token>::max())
      return wrong(fmt::format("'{}' among the token ids; expected whole numbers from 0 to {}",
                               shown(line.substr(at, 12)), std::numeric_limits<Token>::max()));
    if (out.size() == kMaxPromptTokens) return wrong(fmt::format("more than {} token ids", kMaxPromptTokens));
    out.push_back(value);
    at = static_cast<std::size_t>(end - line.data());
  }
  ++at;
  if (line.substr(std::min(at, line.size())).starts_with(" ... "))
    return wrong("the middle of the token ids was left out of the log; SGLang writes all with --log-requests-level 3");
  return {true, 0, {}};
}

std::string_view quoted(std::string_view line, std::size_t at) {
  if (at >= line.size() || (line[at] != '\'' && line[at] != '"')) return {};
  const std::size_t end = behind_quotes(line, at);
  return end > at + 1 ? line.substr(at + 1, end - at - 2) : std::string_view();
}

std::optional<std::uint64_t> logged_time(std::string_view line) {
  constexpr std::size_t kLooked = 100;
  constexpr std::array<std::uint64_t, 12> kBefore = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  const std::string_view head = line.substr(0, kLooked);
  // MM-DD HH:MM:SS
  for (std::size_t at = 0; at + 14 <= head.size(); ++at) {
    if (head[at + 2] != '-' || (head[at + 5] != ' ' && head[at + 5] != 'T') || head[at + 8] != ':' ||
        head[at + 11] != ':')
      continue;
    const auto month = digits(head, at, 2), day = digits(head, at + 3, 2), hour = digits(head, at + 6, 2),
               minute = digits(head, at + 9, 2), second = digits(head, at + 12, 2);
    if (!month || !day || !hour || !minute || !second) continue;
    if (*month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 60) continue;
    std::uint64_t ms = 0;
    if (at + 14 < head.size() && (head[at + 14] == '.' || head[at + 14] == ','))
      ms = digits(head, at + 15, 3).value_or(0);
    const std::uint64_t days = kBefore[*month - 1] + *day - 1;
    return ((days * 24 + *hour) * 60 + *minute) * 60'000 + *second * 1000 + ms;
  }
  return {};
}

std::uint64_t LogClock::read(std::string_view line) {
  constexpr std::uint64_t kDay = 86'400'000, kYear = 366 * kDay;
  const auto at = logged_time(line);
  if (!at) return now_;
  if (last_) {
    // A log whose lines come from several threads may step back; half a year back is a new year.
    if (*at >= *last_) now_ += *at - *last_;
    else if (*last_ - *at > kYear / 2) now_ += *at + kYear - *last_;
    else now_ -= std::min(now_, *last_ - *at);
  }
  last_ = *at;
  return now_;
}

}  // namespace canopy::workload
