/// What SGLang logs with --log-requests --log-requests-level 3, as text ("Receive: obj=GenerateReqInput(...)") or with
/// --log-requests-format json (one object a line; python/sglang/srt/utils/request_logger.py). A request's prompt is
/// where it came, its answer's length where it finished.
#include "../json_line.h"
#include "../log_text.h"
#include "../log_trace.h"
#include "../text.h"
#include "../trace_formats.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace canopy::workload {
namespace {

using Kind = JsonField::Kind;

constexpr const char* kLevel = "; was the log written with --log-requests-level 3?";
enum : std::size_t { kTime, kEvent, kName, kPrompt, kSpace, kPriority, kOutput, kFields };
constexpr std::array<JsonField, kFields> kField = {
    {{"timestamp", Kind::text},
     {"event", Kind::text, 0, "", true},
     {"rid", Kind::text, 0, "", true},
     {"obj.input_ids", Kind::wholes, std::numeric_limits<Token>::max(), "", false, kLevel},
     {"obj.extra_key", Kind::text},
     {"obj.priority", Kind::integer, std::numeric_limits<std::int32_t>::max()},
     {"out.meta_info.completion_tokens", Kind::whole, kMaxPromptTokens, "tokens"}}};

/// A JSON object may stand behind a prefix that a launcher has added.
std::size_t object_in(std::string_view line) {
  const std::size_t at = line.find('{');
  return at != line.npos && line.find("\"event\": \"request.", at) != line.npos ? at : line.npos;
}

std::string_view name_in(std::string_view line, std::size_t from) { return quoted(line, after(line, "rid=", from)); }

class SglangLog final : public LogTrace {
 public:
  using LogTrace::LogTrace;

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    if (const std::size_t at = object_in(text); at != text.npos) return take_object(text, at, record);
    if (const std::size_t at = text.find("Receive: obj="); at != text.npos) return take_text(text, at, record);
    return {Line::other};
  }

  Taken take_object(std::string_view text, std::size_t at, TraceRecord& record) {
    if (auto problem = line_.read(text.substr(at))) {
      if (problem->column > 0) problem->column += at;
      return {Line::request, std::move(problem)};
    }
    if (line_[kEvent].text != "request.received") return {Line::other};
    record.time_ms = clock_.read(line_[kTime].seen ? std::string_view(line_[kTime].text) : text);
    if (!line_[kPrompt].seen)
      return without_tokens(
          "'obj.input_ids' is missing or null: the request came as text, or the log is not of level 3");
    record.tokens.assign(line_[kPrompt].wholes.begin(), line_[kPrompt].wholes.end());
    if (line_[kSpace].seen) record.space = line_[kSpace].text;
    if (line_[kPriority].seen) record.priority = static_cast<std::int32_t>(line_[kPriority].integer);
    return with_output(line_[kName].text, record);
  }

  Taken take_text(std::string_view text, std::size_t at, TraceRecord& record) {
    record.time_ms = clock_.read(text);
    LoggedList list = read_list(text, after(text, "input_ids=", at), ids_);
    if (!list.problem.empty()) return {Line::request, LineProblem{list.column, std::move(list.problem)}};
    if (!list.there)
      return without_tokens("'input_ids' is missing or None: the request came as text, or the log is not of level 3");
    record.tokens.assign(ids_.begin(), ids_.end());
    record.space = quoted(text, after(text, "extra_key=", at));
    if (const std::size_t digits = after(text, "priority=", at); digits < text.size())
      std::from_chars(text.data() + digits, text.data() + text.size(), record.priority);
    return with_output(name_in(text, at), record);
  }

  std::string expected() const override {
    return "a log of SGLang with the requests' token ids: --log-requests --log-requests-level 3";
  }

  JsonLine line_{kField};
  std::vector<std::uint64_t> ids_;
  LogClock clock_;
};

/// The answer that a line tells of. `object` is where the name is kept.
LogOutputs::Part answer_in(std::string_view line, JsonLine& object) {
  if (const std::size_t at = object_in(line); at != line.npos) {
    if (object.read(line.substr(at)) || object[kEvent].text != "request.finished") return {};
    return {object[kName].text, object[kOutput].whole_or(0)};
  }
  const std::size_t at = line.find("Finish: obj=");
  if (at == line.npos) return {};
  std::uint64_t tokens = 0;
  if (const std::size_t digits = after(line, "'completion_tokens': ", at); digits < line.size())
    std::from_chars(line.data() + digits, line.data() + line.size(), tokens);
  return {name_in(line, at), tokens};
}

}  // namespace

Result<std::unique_ptr<TraceReader>> read_sglang_trace(const std::string& path, const TraceOptions& options) {
  JsonLine object(kField);
  auto outputs = LogOutputs::read(path, [&](std::string_view line) { return answer_in(line, object); });
  if (!outputs) return outputs.error();
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(
      std::make_unique<SglangLog>(std::move(*lines), std::move(*outputs), options.leave_out));
}

}  // namespace canopy::workload
