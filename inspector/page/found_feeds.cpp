#include "found_feeds.h"

#include <array>
#include <charconv>

namespace canopy::inspector {
namespace {

/// Removes the text up to a mark, or all of it.
std::string_view cut(std::string_view& text, char mark) {
  const std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

template <class Number>
Number number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::vector<FoundFeed> feeds_of(std::string_view lines) {
  std::vector<FoundFeed> feeds;
  while (!lines.empty()) {
    std::string_view line = cut(lines, '\n');
    std::array<std::string_view, 7> fields;
    std::size_t count = 0;
    for (; count < fields.size() && !line.empty(); ++count) fields[count] = cut(line, '\t');
    if (count < fields.size() - 1) continue;
    feeds.push_back({std::string(fields[0]), number<std::uint64_t>(fields[1]), std::string(fields[2]),
                     number<std::uint32_t>(fields[3]), number<std::uint32_t>(fields[4]), fields[5] == "1",
                     std::string(fields[6])});
  }
  return feeds;
}

}  // namespace canopy::inspector
