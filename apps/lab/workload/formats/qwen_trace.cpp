/// Qwen-Bailian's JSONL (github.com/alibaba-edu/qwen-bailian-usagetraces-anon): per line chat_id, parent_chat_id (-1: a
/// first turn), timestamp (seconds), input_length, output_length, type, turn, and hash_ids of 16 tokens each.
#include "../json_line.h"
#include "../line_trace.h"
#include "../text.h"
#include "../trace_formats.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace canopy::workload {
namespace {

using Kind = JsonField::Kind;

constexpr std::uint64_t kQwenBlock = 16;

enum : std::size_t { kTime, kInput, kOutput, kTurn, kIds, kFields };
constexpr std::array<JsonField, kFields> kField = {{{"timestamp", Kind::number, 1'000'000'000'000, "seconds", true},
                                                    {"input_length", Kind::whole, kMaxPromptTokens, "tokens", true},
                                                    {"output_length", Kind::whole, kMaxPromptTokens, "tokens", true},
                                                    {"turn", Kind::whole, 1'000'000'000, ""},
                                                    {"hash_ids", Kind::wholes, ~std::uint64_t{0}, "", true}}};

class QwenTrace final : public LineTrace {
 public:
  QwenTrace(std::unique_ptr<LineReader> lines, std::uint64_t block)
      : LineTrace(std::move(lines)), line_(kField), block_(block) {}

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    if (auto problem = line_.read(text)) return {Line::request, std::move(problem)};
    record.time_ms = static_cast<std::uint64_t>(std::llround(line_[kTime].number * 1000));
    record.output_tokens = static_cast<std::uint32_t>(line_[kOutput].whole);
    if (line_[kTurn].seen) record.turn = static_cast<std::uint32_t>(line_[kTurn].whole);
    record.block = block_;
    record.input_tokens = static_cast<std::uint32_t>(line_[kInput].whole);
    record.ids.swap(line_[kIds].wholes);
    const std::uint64_t needed = (record.input_tokens + block_ - 1) / block_;
    if (record.ids.size() != needed)
      return {
          Line::request,
          line_.about(text, kIds,
                      fmt::format("has {} ids; 'input_length' {} needs {}, one for each {} tokens; see --block-size",
                                  record.ids.size(), record.input_tokens, needed, block_))};
    // Salted hashes have all 64 bits, but only their equality matters, and tokens start at id * block.
    for (std::uint64_t& id : record.ids) id %= ~std::uint64_t{0} / block_;
    return {};
  }
  std::string expected() const override {
    return "lines like {\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0.5, \"input_length\": 20, "
           "\"output_length\": 5, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1, 2]}";
  }

  JsonLine line_;
  std::uint64_t block_;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_qwen_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(
      std::make_unique<QwenTrace>(std::move(*lines), options.block ? options.block : kQwenBlock));
}

}  // namespace canopy::workload
