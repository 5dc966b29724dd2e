#include "trace_formats.h"

#include "line_reader.h"
#include "shown.h"
#include "trace_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

// One line for each format; the first is the default. A format's marks are searched for in a file's first line, the
// formats in this order; a bar is between two marks.
#define CANOPY_TRACE_FORMATS(FORMAT)                                                                             \
  FORMAT(mooncake, "Mooncake JSONL: lengths, and a hash id for each block of tokens, see --block-size", nullptr) \
  FORMAT(canopy, "Canopy's own JSONL, see docs/lab.md", "\"time_ms\"")                                           \
  FORMAT(qwen, "Qwen-Bailian JSONL, 16 tokens per id", "\"parent_chat_id\"")                                     \
  FORMAT(tokens, "JSONL with prompt_token_ids", "\"prompt_token_ids\"")                                          \
  FORMAT(agents, "conversations of agents: requests of t, in, out, hash_ids", "\"hash_id_scope\"|\"requests\"")  \
  FORMAT(sharegpt, "JSON of conversations; words stand for tokens", "\"conversations\"")                         \
  FORMAT(openai, "bodies of requests as they were sent: messages, prompt; OpenAI batch, inputs.json",            \
         "\"custom_id\"|\"payload|\"messages\"|\"text_input\"|\"prompt\"")                                       \
  FORMAT(lengths, "CSV of lengths without prompts, as Azure's and BurstGPT's", "ContextTokens|Request tokens")   \
  FORMAT(csv, "libCacheSim CSV: time, object, size", nullptr)                                                    \
  FORMAT(oracle, "libCacheSim oracleGeneral, binary", nullptr)

namespace canopy::workload {

#define CANOPY_DECLARE(name, summary, mark) \
  Result<std::unique_ptr<TraceReader>> read_##name##_trace(const std::string&, const TraceOptions&);
CANOPY_TRACE_FORMATS(CANOPY_DECLARE)

namespace {

#define CANOPY_LIST(name, summary, mark) {#name, summary, read_##name##_trace, mark},
constexpr TraceFormat kFormats[] = {CANOPY_TRACE_FORMATS(CANOPY_LIST)};

/// Returns the format whose mark is in the first line. If the file cannot be read, returns the first format, which then
/// reports the error.
const TraceFormat* recognised(const std::string& path) {
  const std::string line = beginning_of(path);
  for (const TraceFormat& format : kFormats)
    for (std::string_view marks = format.mark != nullptr ? format.mark : ""; !marks.empty();) {
      const std::string_view mark = marks.substr(0, marks.find('|'));
      marks.remove_prefix(std::min(marks.size(), mark.size() + 1));
      if (line.find(mark) != line.npos) return &format;
    }
  return &kFormats[0];
}

/// Returns a sentence on a file whose first line is of no format; "" if the line may be one of Mooncake's, which
/// nothing marks.
std::string unknown(const std::string& path) {
  const std::string line = beginning_of(path);
  const auto has = [&](std::string_view text) { return line.find(text) != line.npos; };
  if (line.empty() || has("\"timestamp\"") || has("_length\"") || has("_tokens\"") || has("hash_ids")) return {};
  std::string text =
      fmt::format("{}:1: the line is of no format that is known; it begins with '{}'. ", path, shown(line));
  if (line.find_first_of("{[") == 0)
    text +=
        "The nearest is mooncake, lines like {\"timestamp\": 0, \"input_length\": 700, \"output_length\": 50, "
        "\"hash_ids\": [1, 2]}. ";
  else if (line.find_first_of(",;\t") != line.npos)
    text += "The nearest is csv, rows of time, object and size such as 10.5,a,600. ";
  else if (has("Receive") || has("INFO") || has("request"))
    text += "A log of SGLang or vLLM is read by python3 -m canopy.logs. ";
  return text + "Name a format before the path, as in openai:FILE; docs/lab.md has an example of each";
}

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

TraceName split_trace(const std::string& trace) {
  for (const TraceFormat& format : kFormats)
    if (const std::string prefix = std::string(format.name) + ":"; trace.starts_with(prefix))
      return {&format, trace.substr(prefix.size())};
  // A prefix that is not a format's name belongs to the path.
  return {nullptr, trace};
}

Result<std::unique_ptr<TraceReader>> open_records(const std::string& trace, const TraceOptions& options) {
  const auto [format, path] = split_trace(trace);
  if (format == nullptr && recognised(path) == &kFormats[0])
    if (std::string text = unknown(path); !text.empty()) return Error{std::move(text)};
  return (format != nullptr ? format : recognised(path))->open(path, options);
}

Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block) {
  auto reader = open_records(trace, {.block = block});
  if (!reader) return reader.error();
  return make_trace_source(std::move(*reader));
}

const TraceFormat* format_of(const std::string& trace) {
  const auto [format, path] = split_trace(trace);
  return format != nullptr ? format : recognised(path);
}

std::string trace_path(const std::string& trace) { return split_trace(trace).path; }

std::string trace_name(const std::string& trace) { return std::filesystem::path(trace_path(trace)).filename(); }

std::string trace_help() {
  std::string text = "trace, as PATH or FORMAT:PATH, plain, gzip or zstd; formats:";
  for (const TraceFormat& format : kFormats)
    text += std::string(&format == kFormats ? " " : "; ") + format.name + " (" + format.summary + ")";
  return text;
}

}  // namespace canopy::workload
