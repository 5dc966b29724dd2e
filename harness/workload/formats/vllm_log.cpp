/// What vLLM logs with --enable-log-requests (vllm/entrypoints/logger.py): "Received request ID: prompt: ...,
/// prompt_token_ids: [...]", since 2026 with VLLM_LOGGING_LEVEL=DEBUG as "Request ID details: ...". With
/// --enable-log-outputs, "Generated response ID: ..." has the answer's ids.
#include "../log_text.h"
#include "../log_trace.h"
#include "../text.h"
#include "../trace_formats.h"

#include <utility>

namespace canopy::workload {
namespace {

constexpr std::string_view kPrompt = "prompt_token_ids: ", kAnswer = "output_token_ids: ";

/// The name between a mark and what ends it.
std::string_view name_behind(std::string_view line, std::size_t at) {
  const std::size_t end = line.find_first_of(": ,", at);
  return line.substr(at, (end == line.npos ? line.size() : end) - at);
}

class VllmLog final : public LogTrace {
 public:
  using LogTrace::LogTrace;

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    constexpr std::string_view kReceived = "Received request ", kDetails = "Request ";
    std::size_t at = text.find(kReceived);
    if (at != text.npos) {
      at += kReceived.size();
    } else {
      at = text.find(kDetails);
      if (at == text.npos) return {Line::other};
      at += kDetails.size();
      if (!text.substr(at + name_behind(text, at).size()).starts_with(" details: ")) return {Line::other};
    }
    const std::size_t ids = after(text, kPrompt, at);
    if (ids == text.npos) return {Line::other};  // the details are on a line of their own
    record.time_ms = clock_.read(text);
    LoggedList list = read_list(text, ids, ids_);
    if (!list.problem.empty()) return {Line::request, LineProblem{list.column, std::move(list.problem)}};
    if (!list.there) return without_tokens("'prompt_token_ids' is None: the request came as text or as embeddings");
    record.tokens.assign(ids_.begin(), ids_.end());
    record.space = quoted(text, after(text, "lora_name=", at));
    return with_output(name_behind(text, at), record);
  }

  std::string expected() const override {
    return "a log of vLLM with 'prompt_token_ids': --enable-log-requests, and VLLM_LOGGING_LEVEL=DEBUG since 2026";
  }

  std::vector<std::uint64_t> ids_;
  LogClock clock_;
};

LogOutputs::Part answer_in(std::string_view line, std::vector<std::uint64_t>& ids) {
  constexpr std::string_view kMark = "Generated response ";
  std::size_t at = line.find(kMark);
  if (at == line.npos) return {};
  at += kMark.size();
  const std::string_view name = name_behind(line, at);
  const std::size_t list = after(line, kAnswer, at);
  if (list == line.npos || !read_list(line, list, ids).there) return {};
  return {name, ids.size(), line.substr(at + name.size()).starts_with(" (streaming delta)")};
}

}  // namespace

Result<std::unique_ptr<TraceReader>> read_vllm_trace(const std::string& path, const TraceOptions& options) {
  std::vector<std::uint64_t> ids;
  auto outputs = LogOutputs::read(path, [&](std::string_view line) { return answer_in(line, ids); });
  if (!outputs) return outputs.error();
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(
      std::make_unique<VllmLog>(std::move(*lines), std::move(*outputs), options.leave_out));
}

}  // namespace canopy::workload
