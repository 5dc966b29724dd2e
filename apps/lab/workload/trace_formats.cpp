#include "trace_formats.h"

#include "line_reader.h"
#include "trace_source.h"

#include <filesystem>
#include <utility>

// One line for each format; the first is the default. A format's mark is searched for in a file's first line.
#define CANOPY_TRACE_FORMATS(FORMAT)                                                                             \
  FORMAT(mooncake, "Mooncake JSONL: lengths, and a hash id for each block of tokens, see --block-size", nullptr) \
  FORMAT(canopy, "Canopy's own JSONL, see docs/lab.md", "\"time_ms\"")                                           \
  FORMAT(qwen, "Qwen-Bailian JSONL, 16 tokens per id", "\"parent_chat_id\"")                                     \
  FORMAT(tokens, "JSONL with prompt_token_ids", "\"prompt_token_ids\"")                                          \
  FORMAT(sharegpt, "JSON of conversations; words stand for tokens", nullptr)                                     \
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
  auto lines = LineReader::open(path);
  std::string_view line;
  while (lines) {
    auto got = (*lines)->next(line);
    if (!got || !*got) break;
    if (line.find_first_not_of(" \t") == line.npos) continue;
    for (const TraceFormat& format : kFormats)
      if (format.mark != nullptr && line.find(format.mark) != line.npos) return &format;
    break;
  }
  return &kFormats[0];
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
  return (format != nullptr ? format : recognised(path))->open(path, options);
}

Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block) {
  auto reader = open_records(trace, {.block = block});
  if (!reader) return reader.error();
  return make_trace_source(std::move(*reader));
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
