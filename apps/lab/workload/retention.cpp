#include "retention.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace canopy::workload {

constexpr double kMicroseconds = 1e6;

void read_retention(const JsonValue& rows, std::vector<Retention>& to) {
  for (std::size_t i = 0; i < rows.items.size(); i += kRetentionFields) {
    const JsonValue &tokens = rows.items[i], &seconds = rows.items[i + 1], &priority = rows.items[i + 2];
    to.push_back({static_cast<std::uint32_t>(tokens.whole),
                  static_cast<std::uint64_t>(std::llround(seconds.number * kMicroseconds)),
                  static_cast<std::int32_t>(priority.seen ? priority.integer : 0)});
  }
}

void append_retention(std::string& line, const std::vector<Retention>& retention) {
  if (retention.empty()) return;
  const char* before = ", \"retention\": [";
  for (const Retention& item : retention) {
    fmt::format_to(std::back_inserter(line), "{}{{\"tokens\": {}, \"seconds\": {}", before, item.tokens,
                   static_cast<double>(item.us) / kMicroseconds);
    if (item.priority != 0) fmt::format_to(std::back_inserter(line), ", \"priority\": {}", item.priority);
    line += '}';
    before = ", ";
  }
  line += ']';
}

void LongRetentions::add(const std::vector<Retention>& retention, std::uint32_t prompt_tokens) {
  std::uint32_t longest = 0;
  for (const Retention& item : retention) longest = std::max(longest, item.tokens);
  if (longest <= prompt_tokens) return;
  ++requests_;
  tokens_ += longest - prompt_tokens;
}

void LongRetentions::add_note(std::vector<std::string>& notes) const {
  if (requests_ > 0)
    notes.push_back(
        fmt::format("{} wish to keep more than the prompt: the wish is cut to the prompt, {} less, because no "
                    "part of an answer is kept",
                    plural(requests_, "request"), plural(tokens_, "token")));
}

}  // namespace canopy::workload
