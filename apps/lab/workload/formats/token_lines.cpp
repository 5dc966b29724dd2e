/// JSONL of token ids, as people write it from a server's requests: per line `prompt_token_ids`, and if they are known
/// `output_token_ids` or `output_tokens`, `timestamp` (seconds), `namespace`, `priority`, `hints`, `turn`, `retention`.
/// Skips other keys.
#include "../json_line.h"
#include "../line_trace.h"
#include "../retention.h"
#include "../text.h"
#include "../trace_formats.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace canopy::workload {
namespace {

using Kind = JsonField::Kind;

enum : std::size_t {
  kPrompt,
  kOutput,
  kOutputs,
  kTime,
  kSpace,
  kPriority,
  kHints,
  kTurn,
  kRetention,
  kFields = kRetention + 1 + kRetentionFields
};
constexpr std::uint64_t kMostToken = std::numeric_limits<Token>::max();
constexpr std::array<JsonField, kFields> kField = {
    {{"prompt_token_ids", Kind::wholes, kMostToken, "", true},
     {"output_token_ids", Kind::wholes, kMostToken},
     {"output_tokens", Kind::whole, kMaxPromptTokens, "tokens"},
     {"timestamp", Kind::number, 1'000'000'000'000, "seconds"},
     {"namespace", Kind::text},
     {"priority", Kind::integer, std::numeric_limits<std::int32_t>::max()},
     {"hints", Kind::hints, ~std::uint64_t{0}, "bits"},
     {"turn", Kind::whole, 1'000'000'000, ""},
     {"retention", Kind::rows, kMostRetentions},
     kRetentionField[0],
     kRetentionField[1],
     kRetentionField[2]}};

class TokenLines final : public LineTrace {
 public:
  explicit TokenLines(std::unique_ptr<LineReader> lines) : LineTrace(std::move(lines)), line_(kField) {}

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    if (auto problem = line_.read(text)) return {Line::request, std::move(problem)};
    record.tokens.assign(line_[kPrompt].wholes.begin(), line_[kPrompt].wholes.end());
    record.answer.assign(line_[kOutput].wholes.begin(), line_[kOutput].wholes.end());
    record.output_tokens =
        static_cast<std::uint32_t>(line_[kOutput].seen ? record.answer.size() : line_[kOutputs].whole_or(0));
    if (line_[kTime].seen) {
      const auto at = static_cast<std::uint64_t>(std::llround(line_[kTime].number * 1000));
      if (!first_ms_) first_ms_ = at;
      record.time_ms = at - std::min(at, *first_ms_);
    }
    if (line_[kSpace].seen) record.space = line_[kSpace].text;
    record.priority = static_cast<std::int32_t>(line_[kPriority].seen ? line_[kPriority].integer : 0);
    record.hints = line_[kHints].whole_or(0);
    record.turn = static_cast<std::uint32_t>(line_[kTurn].whole_or(0));
    read_retention(line_[kRetention], record.retention);
    return {};
  }
  std::string expected() const override {
    return "lines like {\"timestamp\": 0.5, \"prompt_token_ids\": [1, 2, 3], \"output_token_ids\": [4, 5]}";
  }

  JsonLine line_;
  std::optional<std::uint64_t> first_ms_;  ///< times may be those of a clock since 1970
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_tokens_trace(const std::string& path, const TraceOptions&) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(std::make_unique<TokenLines>(std::move(*lines)));
}

}  // namespace canopy::workload
