#include "rank_text.h"

#include <canopy/base/figures.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <optional>

namespace canopy::inspector {
namespace {

std::string ago(std::uint64_t tick, Tick now) { return grouped(now > tick ? now - tick : 0) + " ticks ago"; }

/// Returns one of the words separated by bars: the one at `value`, or the last.
std::string choice(std::string_view words, std::uint64_t value) {
  for (;; --value) {
    const std::size_t end = words.find('|');
    if (value == 0 || end == std::string_view::npos) return std::string(words.substr(0, end));
    words.remove_prefix(end + 1);
  }
}

std::string digits(const char* form, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

std::string shown(std::uint64_t value, std::string_view as, Tick now) {
  if (as.empty()) return grouped(value);
  if (as == "ago") return ago(value, now);
  if (as == "~ago") return ago(~value, now);
  if (as == "signed") return std::to_string(static_cast<std::int64_t>(value - (std::uint64_t{1} << 31)));
  if (as == "real") return digits("%.4g", std::bit_cast<double>(value));
  if (as == "number")
    return digits("%.15g", std::bit_cast<double>(value >> 63 ? value & ~(std::uint64_t{1} << 63) : ~value));
  return choice(as, value);
}

/// Returns the bits "FIRST-LAST" of `word`, where 0 is the lowest; nothing if the text is no such range.
std::optional<std::uint64_t> bits_of(std::uint64_t word, std::string_view range) {
  std::uint32_t first = 0, last = 0;
  const char* const end = range.data() + range.size();
  const auto from = std::from_chars(range.data(), end, first);
  if (from.ec != std::errc() || from.ptr == end || *from.ptr != '-') return {};
  const auto to = std::from_chars(from.ptr + 1, end, last);
  if (to.ec != std::errc() || to.ptr != end || last > 63 || first > last) return {};
  return word << (63 - last) >> (63 - last + first);
}

/// Returns the value of a placeholder such as "major", "minor:ago" or "minor.0-3:no|yes".
std::optional<std::string> filled(std::string_view placeholder, const Rank& rank, Tick now) {
  const std::size_t colon = placeholder.find(':');
  const std::string_view which = placeholder.substr(0, colon), word = which.substr(0, 5);
  const std::string_view as = colon == std::string_view::npos ? std::string_view{} : placeholder.substr(colon + 1);
  if (word != "major" && word != "minor") return {};
  std::uint64_t value = word == "major" ? rank.major : rank.minor;
  if (which.size() > word.size()) {
    const auto bits = which[word.size()] == '.' ? bits_of(value, which.substr(word.size() + 1)) : std::nullopt;
    if (!bits) return {};
    value = *bits;
  }
  return shown(value, as, now);
}

}  // namespace

std::string rank_words(std::string_view form, const Rank& rank, Tick now) {
  if (form.empty()) return rank.major == 0 ? grouped(rank.minor) : grouped(rank.major) + " / " + grouped(rank.minor);
  std::string words;
  while (!form.empty()) {
    const std::size_t open = form.find('{'), close = form.find('}', open);
    if (close == std::string_view::npos) break;
    const auto value = filled(form.substr(open + 1, close - open - 1), rank, now);
    words += form.substr(0, open);
    words += value ? *value : std::string(form.substr(open, close + 1 - open));
    form.remove_prefix(close + 1);
  }
  return words += form;
}

}  // namespace canopy::inspector
