#include "feed_lines.h"

#include <canopy/feed/event.h>

#include <algorithm>
#include <charconv>

namespace canopy::inspector {
namespace {

std::uint64_t figure_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

WorkerLine::WorkerLine(std::string_view line) {
  auto fields = fields_of(line);
  fields.resize(std::max(fields.size(), kWorkerFields));
  const auto of = [&](WorkerField field) { return fields[static_cast<std::size_t>(field)]; };
  name = of(WorkerField::name), state = of(WorkerField::state), lost = of(WorkerField::lost);
  tokens = figure_of(of(WorkerField::tokens)), shared = figure_of(of(WorkerField::shared));
}

std::string WorkerLine::events() const {
  return lost.empty() ? std::string(state) : std::string(lost) + "; before: " + std::string(state);
}

std::size_t servers_lost(const std::vector<std::string>& lines) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const std::string& line) { return !WorkerLine(line).lost.empty(); }));
}

}  // namespace canopy::inspector
