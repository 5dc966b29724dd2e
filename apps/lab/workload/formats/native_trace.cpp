#include "native_trace.h"

#include "../json_line.h"
#include "../line_trace.h"
#include "../retention.h"
#include "../text.h"
#include "../trace_formats.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace canopy::workload {
namespace {

using Kind = JsonField::Kind;

enum : std::size_t {
  kTime,
  kSpace,
  kPriority,
  kHints,
  kTurn,
  kOutput,
  kAnswer,
  kTokens,
  kBlock,
  kInput,
  kIds,
  kRetention,
  kFields = kRetention + 1 + kRetentionFields
};
constexpr std::array<JsonField, kFields> kField = {
    {{"time_ms", Kind::whole, 1'000'000'000'000'000, "milliseconds", true},
     {"namespace", Kind::text},
     {"priority", Kind::integer, std::numeric_limits<std::int32_t>::max()},
     {"hints", Kind::hints, ~std::uint64_t{0}, "bits"},
     {"turn", Kind::whole, 1'000'000'000, ""},
     {"output_tokens", Kind::whole, kMaxPromptTokens, "tokens"},
     {"answer", Kind::wholes, std::numeric_limits<Token>::max()},
     {"tokens", Kind::wholes, std::numeric_limits<Token>::max()},
     {"block_size", Kind::whole, kMaxTraceBlock, "tokens"},
     {"input_tokens", Kind::whole, kMaxPromptTokens, "tokens"},
     {"ids", Kind::wholes, ~std::uint64_t{0}},
     {"retention", Kind::rows, kMostRetentions},
     kRetentionField[0],
     kRetentionField[1],
     kRetentionField[2]}};

class NativeTrace final : public LineTrace {
 public:
  explicit NativeTrace(std::unique_ptr<LineReader> lines)
      : LineTrace(std::move(lines)), line_(kField, {.closed = true}) {}

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    if (auto problem = line_.read(text)) return {Line::request, std::move(problem)};
    record.time_ms = line_[kTime].whole;
    if (line_[kSpace].seen) record.space = line_[kSpace].text;
    if (line_[kPriority].seen) record.priority = static_cast<std::int32_t>(line_[kPriority].integer);
    record.hints = line_[kHints].whole_or(0);
    if (line_[kTurn].seen) record.turn = static_cast<std::uint32_t>(line_[kTurn].whole);
    read_retention(line_[kRetention], record.retention);
    if (line_[kOutput].seen) record.output_tokens = static_cast<std::uint32_t>(line_[kOutput].whole);
    return {Line::request, line_[kTokens].seen ? take_tokens(text, record) : take_ids(text, record)};
  }

  std::optional<LineProblem> take_answer(std::string_view text, TraceRecord& record) {
    if (!line_[kAnswer].seen) return {};
    record.answer.assign(line_[kAnswer].wholes.begin(), line_[kAnswer].wholes.end());
    if (line_[kOutput].seen && record.output_tokens != record.answer.size())
      return line_.about(text, kAnswer,
                         fmt::format("has {} items; 'output_tokens' is {}, expected the same", record.answer.size(),
                                     record.output_tokens));
    record.output_tokens = static_cast<std::uint32_t>(record.answer.size());
    return {};
  }

  std::optional<LineProblem> take_tokens(std::string_view text, TraceRecord& record) {
    for (const std::size_t other : {kBlock, kInput, kIds})
      if (line_[other].seen)
        return line_.about(text, other, "is given together with 'tokens'; expected only one of them");
    record.tokens.assign(line_[kTokens].wholes.begin(), line_[kTokens].wholes.end());
    return take_answer(text, record);
  }

  std::optional<LineProblem> take_ids(std::string_view text, TraceRecord& record) {
    if (!line_[kIds].seen)
      return LineProblem{0, "has no prompt; expected 'tokens', or 'ids' with 'block_size' and 'input_tokens'"};
    if (line_[kAnswer].seen)
      return line_.about(text, kAnswer, "has token ids, and the prompt has none; expected 'output_tokens'");
    for (const std::size_t other : {kBlock, kInput})
      if (!line_[other].seen) return line_.about(text, kIds, fmt::format("needs '{}' as well", kField[other].path));
    record.block = line_[kBlock].whole;
    if (record.block == 0) return line_.about(text, kBlock, fmt::format("is 0; expected 1 to {}", kMaxTraceBlock));
    record.input_tokens = static_cast<std::uint32_t>(line_[kInput].whole);
    const std::uint64_t needed = (record.input_tokens + record.block - 1) / record.block;
    record.ids.swap(line_[kIds].wholes);
    if (record.ids.size() != needed)
      return line_.about(text, kIds,
                         fmt::format("has {} items; 'input_tokens' {} needs {}, one for each {} tokens",
                                     record.ids.size(), record.input_tokens, needed, record.block));
    // A block's tokens start at id * block, which must not wrap: two ids would be the same text.
    const std::uint64_t most = ~std::uint64_t{0} / record.block;
    for (const std::uint64_t id : record.ids)
      if (id > most)
        return line_.about(text, kIds, fmt::format("has {}; expected at most {} with this 'block_size'", id, most));
    return {};
  }

  std::string expected() const override {
    return "lines like {\"time_ms\": 0, \"tokens\": [1, 2, 3], \"output_tokens\": 50}";
  }

  JsonLine line_;
};

void append_numbers(std::string& line, const auto& numbers) {
  auto to = std::back_inserter(line);
  line += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) fmt::format_to(to, "{}{}", i ? ", " : "", numbers[i]);
  line += ']';
}

}  // namespace

Result<std::unique_ptr<TraceReader>> read_canopy_trace(const std::string& path, const TraceOptions&) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(std::make_unique<NativeTrace>(std::move(*lines)));
}

std::string native_line(const TraceRecord& record) {
  std::string line = fmt::format("{{\"time_ms\": {}", record.time_ms);
  if (!record.space.empty())
    line += ", \"namespace\": " +
            nlohmann::json(record.space).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (record.priority != 0) line += fmt::format(", \"priority\": {}", record.priority);
  if (record.hints != 0) line += fmt::format(", \"hints\": {}", record.hints);
  if (record.turn != 0) line += fmt::format(", \"turn\": {}", record.turn);
  append_retention(line, record.retention);
  if (!record.answer.empty()) {
    line += ", \"answer\": ";
    append_numbers(line, record.answer);
  } else if (record.output_tokens != 0) {
    line += fmt::format(", \"output_tokens\": {}", record.output_tokens);
  }
  if (record.block == 0) {
    line += ", \"tokens\": ";
    append_numbers(line, record.tokens);
  } else {
    line += fmt::format(", \"block_size\": {}, \"input_tokens\": {}, \"ids\": ", record.block, record.input_tokens);
    append_numbers(line, record.ids);
  }
  return line + "}\n";
}

}  // namespace canopy::workload
