/// Hostile lines of a Mooncake trace.
#include "fuzz.h"

#include <workload/mooncake_line.h>
#include <workload/text.h>

#include <string_view>

namespace {

using namespace canopy::workload;

void check_line(std::string_view text) {
  static MooncakeLine line;  // kept, as a trace keeps it: what an earlier line left must not matter
  const auto problem = line.read(text);
  if (problem) {
    EXPECT(!problem->text.empty() && problem->text.size() < 300, text);
    EXPECT(problem->column <= text.size() + 1, text);
    for (const char c : problem->text) EXPECT(c >= ' ' && c <= '~', text);
  } else {
    EXPECT(line.input_length <= kMaxPromptTokens && line.output_length <= kMaxPromptTokens, text);
    EXPECT(!line.has_ids || line.hash_ids.size() == (line.input_length + kMooncakeBlock - 1) / kMooncakeBlock, text);
    for (const std::uint64_t id : line.hash_ids) EXPECT(id <= ~std::uint64_t{0} / kMooncakeBlock, text);
    EXPECT(text.find('\0') == text.npos, text);
  }
  MooncakeLine fresh;
  const auto again = fresh.read(text);
  EXPECT(problem.has_value() == again.has_value(), text);
  if (problem) EXPECT(problem->text == again->text && problem->column == again->column, text);
  if (!problem) EXPECT(line.hash_ids == fresh.hash_ids && line.timestamp == fresh.timestamp, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_line(canopy::fuzz::text_of(data, size));
  return 0;
}
