/// CSV of lengths, as Azure (AzurePublicDataset, LLM inference traces) and BurstGPT publish them: a heading, and per
/// row a time (seconds or a date), the length of the prompt and of the answer. There are no prompts in such a file, so
/// no two requests share anything: it is a load for timed replays, and no hit rate can come of it.
#include "../csv_cells.h"
#include "../line_trace.h"
#include "../objects.h"
#include "../shown.h"
#include "../text.h"
#include "../trace_formats.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace canopy::workload {
namespace {

enum : std::size_t { kLengthTime, kLengthPrompt, kLengthAnswer, kLengthColumns };
constexpr std::array<const char*, kLengthColumns> kLengthName = {"time", "length of the prompt",
                                                                 "length of the answer"};
constexpr std::uint64_t kLengthBlock = 512;

std::size_t length_column(const std::string& name) {
  if (is_one_of(name, {"timestamp", "time", "arrivaltime", "arrivedat", "ts"})) return kLengthTime;
  if (is_one_of(name, {"contexttokens", "requesttokens", "inputtokens", "prompttokens", "inputlength", "promptlength",
                       "numprefilltokens"}))
    return kLengthPrompt;
  if (is_one_of(name, {"generatedtokens", "responsetokens", "outputtokens", "completiontokens", "outputlength",
                       "answerlength", "numdecodetokens"}))
    return kLengthAnswer;
  return kLengthColumns;
}

class LengthsTrace final : public LineTrace {
 public:
  LengthsTrace(std::unique_ptr<LineReader> lines, std::uint64_t block)
      : LineTrace(std::move(lines)), block_(block ? block : kLengthBlock) {}

  std::vector<std::string> notes() const override {
    return {
        fmt::format("the file has lengths and no prompts: none of its {} shares anything with another one, so nothing "
                    "can be reused and no hit rate can come of it; it is a load for `canopy replay --mode timed`",
                    plural(requests_, "request"))};
  }

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    cells_.split(text);
    if (std::exchange(first_, false)) return {Line::other, take_heading()};
    std::array<double, kLengthColumns> values{};
    for (std::size_t i = 0; i < kLengthColumns; ++i) {
      if (columns_[i] == 0) continue;
      if (columns_[i] > cells_.size())
        return {Line::request, LineProblem{text.size() + 1, fmt::format("has {} columns; the {} is column {}",
                                                                        cells_.size(), kLengthName[i], columns_[i])}};
      const std::string_view cell = cells_[columns_[i] - 1];
      const auto value = i == kLengthTime ? seconds_of(cell) : tokens_of(cell);
      if (!value)
        return {Line::request,
                LineProblem{static_cast<std::size_t>(cell.data() - text.data()) + 1,
                            fmt::format("the {} is '{}'; expected {}", kLengthName[i], shown(cell),
                                        i == kLengthTime ? "seconds or a date such as 2024-05-10 00:00:00.5"
                                                         : "a whole number of tokens from 0 to 20000000")}};
      values[i] = *value;
    }
    if (!begin_) begin_ = values[kLengthTime];
    record.time_ms = static_cast<std::uint64_t>(std::llround(std::max(0.0, values[kLengthTime] - *begin_) * 1000));
    record.block = block_;
    record.input_tokens = static_cast<std::uint32_t>(values[kLengthPrompt]);
    record.output_tokens = static_cast<std::uint32_t>(values[kLengthAnswer]);
    add_own_ids(record, requests_++);
    return {};
  }

  static std::optional<double> tokens_of(std::string_view cell) {
    std::uint32_t tokens = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), tokens);
    // Spreadsheets and data frames write a column with a gap as 374.0.
    const std::string_view rest(end, static_cast<std::size_t>(cell.data() + cell.size() - end));
    if (error != std::errc() || (!rest.empty() && rest != ".0") || tokens > kMaxPromptTokens) return {};
    return tokens;
  }

  std::optional<LineProblem> take_heading() {
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (const std::size_t which = length_column(cells_.name(i)); which < kLengthColumns && columns_[which] == 0)
        columns_[which] = i + 1;
    if (columns_[kLengthTime] > 0 && columns_[kLengthPrompt] > 0) return {};
    return LineProblem{1, "is no heading of a file of lengths; expected " + expected()};
  }

  std::string expected() const override {
    return "a heading such as TIMESTAMP,ContextTokens,GeneratedTokens, and rows of time and lengths";
  }

  std::uint64_t block_, requests_ = 0;
  CsvCells cells_;
  bool first_ = true;
  std::array<std::size_t, kLengthColumns> columns_{};  ///< from 1; 0: there is none
  std::optional<double> begin_;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_lengths_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(std::make_unique<LengthsTrace>(std::move(*lines), options.block));
}

}  // namespace canopy::workload
