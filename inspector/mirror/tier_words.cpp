#include "tier_words.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace canopy::inspector {
namespace {

/// By CounterUnit: the end of a counter's name, which is also the unit of its value.
constexpr std::string_view kUnitWords[] = {"", "tokens", "pages", "bytes", "bytes", "us"};
static_assert(std::size(kUnitWords) == static_cast<std::size_t>(CounterUnit::us) + 1);

std::string with_spaces(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

/// Returns "written" for written_tokens_host.
std::string subject(const CounterInfo& info) {
  std::string_view name = info.name_in_tier();
  const std::string_view unit = kUnitWords[static_cast<std::size_t>(info.unit)];
  if (!unit.empty() && name.ends_with(unit)) name.remove_suffix(unit.size() + 1);
  return with_spaces(name);
}

void join(std::string& text, const std::string& more) { text += (text.empty() ? "" : ", ") + more; }

std::string row_name(const CounterAxis& axis, std::size_t row, std::span<const std::string> groups) {
  return axis.names.empty() ? row < groups.size() ? groups[row] : "" : axis.names[row];
}

}  // namespace

std::string counter_words(const CounterInfo& info, std::uint64_t value) {
  const std::string text = info.unit == CounterUnit::tokens        ? plural(value, "token")
                           : info.unit == CounterUnit::pages       ? plural(value, "page")
                           : info.unit == CounterUnit::bytes       ? bytes(value)
                           : info.unit == CounterUnit::bytes_per_s ? bytes(value) + "/s"
                           : info.unit == CounterUnit::us          ? duration(static_cast<double>(value) / 1e6)
                                                                   : grouped(value);
  return subject(info) + " " + text;
}

std::string counted_words(std::span<const std::uint64_t> counts, std::span<const char* const> names) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) join(text, fmt::format("{} {}", grouped(counts[i]), with_spaces(names[i])));
  return text.empty() ? "none" : text;
}

std::vector<TierLine> tier_lines(const CounterValues& counters, std::string_view tier,
                                 std::span<const std::string> groups) {
  std::vector<TierLine> lines;
  const auto line = [&](const std::string& label) -> std::string& {
    const auto at = std::ranges::find(lines, label, &TierLine::label);
    return at != lines.end() ? at->text : lines.emplace_back(label, "").text;
  };
  for_each_counter([&](Counter counter, const CounterInfo& info) {
    if (info.tier != tier) return;
    if (is_by(info.rows, "outcome")) {
      line(fmt::format("{} {}", tier, subject(info))) = counted_words(counters.all(counter), info.rows.names);
      return;
    }
    for (std::size_t row = 0; row < info.rows.size; ++row) {
      const std::string name = info.rows.label ? row_name(info.rows, row, groups) : "";
      if (info.rows.label && name.empty()) continue;
      std::string& text = line(name.empty() ? std::string(tier) : fmt::format("{} {}", tier, name));
      const auto values = counters.all(counter).subspan(row * info.columns.size, info.columns.size);
      const bool none = std::ranges::all_of(values, [&](auto value) { return value == 0 || !is_shown(info, value); });
      if (none) continue;
      join(text, info.columns.label ? fmt::format("{}: {}", subject(info), counted_words(values, info.columns.names))
                                    : counter_words(info, values[0]));
    }
  });
  return lines;
}

std::string breaker_words(const event::StorageHealth& health, std::uint64_t now_us) {
  if (health.ranks == RanksState::stopped) return "the ranks disagreed: transfers between the tiers have stopped";
  switch (health.state) {
    case StorageState::closed:
      return "called";
    case StorageState::half_open:
      return "on trial: one call at a time";
    case StorageState::open:
      break;
  }
  if (health.until_us == kUnlimited) return "no longer called";
  const std::uint64_t left = health.until_us > now_us ? health.until_us - now_us : 0;
  return fmt::format("not called for another {:.1f} s", static_cast<double>(left) / 1e6);
}

}  // namespace canopy::inspector
