#include "mooncake_line.h"

#include "text.h"

#include <fmt/format.h>

#include <cmath>

namespace canopy::workload {
namespace {

using Kind = JsonField::Kind;

enum : std::size_t { kTimestamp, kInput, kOutput, kIds, kHints, kSession, kDelay };
constexpr JsonStyle kStyle{.deepest = 8,
                           .wanted =
                               "expected an object like {\"timestamp\": 0, \"input_length\": 700, \"output_length\": "
                               "50, \"hash_ids\": [1, 2]}"};

}  // namespace

// A block's tokens start at id * block, which must not wrap: two ids would be the same text. No prompt needs more ids
// than are kept, and a line has room for 33 million.
MooncakeLine::MooncakeLine(std::uint64_t block)
    : block_(block),
      fields_{{{.path = "timestamp",
                .kind = Kind::number,
                .most = 1'000'000'000'000'000,
                .what = "milliseconds",
                .other = "created_time",
                .guarded = true},
               {.path = "input_length",
                .kind = Kind::whole,
                .most = kMaxPromptTokens,
                .what = "tokens",
                .required = true,
                .other = "input_tokens"},
               {.path = "output_length",
                .kind = Kind::whole,
                .most = kMaxPromptTokens,
                .what = "tokens",
                .other = "output_tokens",
                .guarded = true},
               {.path = "hash_ids",
                .kind = Kind::ids,
                .most = ~std::uint64_t{0} / block,
                .item = "id",
                .kept = kMaxPromptTokens / block + 1,
                .guarded = true,
                .filled = true},
               {.path = "hints", .kind = Kind::hints, .most = ~std::uint64_t{0}, .filled = true},
               {"session_id", Kind::name},
               {.path = "delay",
                .kind = Kind::number,
                .most = 1'000'000'000'000'000,
                .what = "milliseconds",
                .other = "delay_ms"}}},
      line_(fields_, kStyle) {}

std::optional<LineProblem> MooncakeLine::read(std::string_view line) {
  line_[kIds].wholes.swap(hash_ids);  // the storage of the line before
  if (auto problem = line_.read(line)) return problem;
  has_time = line_[kTimestamp].seen;
  timestamp = has_time ? static_cast<std::uint64_t>(std::llround(line_[kTimestamp].number)) : 0;
  session = line_[kSession].seen ? line_[kSession].text : std::string();
  delay = line_[kDelay].seen ? static_cast<std::uint64_t>(std::llround(line_[kDelay].number)) : 0;
  if (!has_time && session.empty()) return LineProblem{0, "'timestamp' is missing"};
  input_length = static_cast<std::uint32_t>(line_[kInput].whole);
  has_output = line_[kOutput].seen;
  output_length = has_output ? static_cast<std::uint32_t>(line_[kOutput].whole) : 0;
  has_ids = line_[kIds].seen;
  hints = line_[kHints].whole_or(0);
  if (!has_ids) return hash_ids.clear(), std::nullopt;
  const std::uint64_t ids = line_[kIds].whole, blocks = (input_length + block_ - 1) / block_;
  hash_ids.swap(line_[kIds].wholes);
  if (ids == blocks) return {};
  std::string text = fmt::format("has {} id{}; 'input_length' {} needs {}, one per {} token{}", ids,
                                 ids == 1 ? "" : "s", input_length, blocks, block_, block_ == 1 ? "" : "s");
  // A usual block size in which the line would be right.
  for (std::uint64_t other = 1; ids > 0 && other <= 65536; other *= 2)
    if ((input_length + other - 1) / other == ids) {
      text += fmt::format("; is it a trace for --block-size {}?", other);
      break;
    }
  return line_.about(line, kIds, text);
}

}  // namespace canopy::workload
