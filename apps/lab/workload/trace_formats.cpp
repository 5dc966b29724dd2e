#include "trace_formats.h"

#include "first_keys.h"
#include "line_reader.h"
#include "shown.h"
#include "trace_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

// One line for each format. Its marks have bars between them. A mark in quotes is a key of the file's first object,
// another one is a text in its beginning. The first format of this list that has one of its marks in a file is the
// file's. A line of Mooncake's may have texts of a prompt as well; its ids say more.
#define CANOPY_TRACE_FORMATS(FORMAT)                                                                                 \
  FORMAT(canopy, "Canopy's own JSONL, see docs/lab.md", "\"time_ms\"")                                               \
  FORMAT(qwen, "Qwen-Bailian JSONL, 16 tokens per id", "\"parent_chat_id\"")                                         \
  FORMAT(tokens, "JSONL with prompt_token_ids", "\"prompt_token_ids\"")                                              \
  FORMAT(mooncake, "Mooncake JSONL: lengths, and a hash id for each block of tokens, see --block-size",              \
         "\"hash_ids\"|\"input_length\"")                                                                            \
  FORMAT(agents, "conversations of agents: requests of t, in, out, hash_ids", "\"hash_id_scope\"|\"requests\"")      \
  FORMAT(sharegpt, "JSON of conversations; words stand for tokens", "\"conversations\"")                             \
  FORMAT(                                                                                                            \
      openai, "bodies of requests as they were sent: messages, prompt; OpenAI batch, inputs.json",                   \
      "\"custom_id\"|\"body\"|\"payload\"|\"payloads\"|\"data\"|\"request\"|\"messages\"|\"text_input\"|\"prompt\"") \
  FORMAT(lengths, "CSV of lengths without prompts, as Azure's and BurstGPT's", "ContextTokens|Request tokens")       \
  FORMAT(csv, "libCacheSim CSV: time, object, size", nullptr)                                                        \
  FORMAT(oracle, "libCacheSim oracleGeneral, binary", nullptr)

namespace canopy::workload {

#define CANOPY_DECLARE(name, summary, mark) \
  Result<std::unique_ptr<TraceReader>> read_##name##_trace(const std::string&, const TraceOptions&);
CANOPY_TRACE_FORMATS(CANOPY_DECLARE)

namespace {

#define CANOPY_LIST(name, summary, mark) {#name, summary, read_##name##_trace, mark},
constexpr TraceFormat kFormats[] = {CANOPY_TRACE_FORMATS(CANOPY_LIST)};

/// The format of a file that has no format's marks. It reports what is wrong with the file.
constexpr const TraceFormat& kDefault = *std::ranges::find(kFormats, std::string_view("mooncake"), &TraceFormat::name);

/// Returns the format that has one of its marks in the beginning of a file; nullptr if none has.
const TraceFormat* recognised(std::string_view beginning) {
  const std::vector<std::string> keys = first_keys(beginning);
  const auto has = [&](std::string_view mark) {
    if (!mark.starts_with('"')) return keys.empty() && beginning.find(mark) != beginning.npos;
    return std::ranges::find(keys, mark.substr(1, mark.size() - 2)) != keys.end();
  };
  for (const TraceFormat& format : kFormats)
    for (std::string_view marks = format.mark != nullptr ? format.mark : ""; !marks.empty();) {
      const std::string_view mark = marks.substr(0, marks.find('|'));
      marks.remove_prefix(std::min(marks.size(), mark.size() + 1));
      if (has(mark)) return &format;
    }
  return nullptr;
}

/// Returns a sentence on a file whose beginning is of no format; "" if it may be of the default one, or if it could not
/// be read, which opening it reports.
std::string unknown(const std::string& path, const std::string& line) {
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
  const auto [named, path] = split_trace(trace);
  if (named != nullptr) return named->open(path, options);
  const std::string beginning = beginning_of(path);
  const TraceFormat* const format = recognised(beginning);
  if (format != nullptr) return format->open(path, options);
  if (std::string text = unknown(path, beginning); !text.empty()) return Error{std::move(text)};
  return kDefault.open(path, options);
}

Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block) {
  auto reader = open_records(trace, {.block = block});
  if (!reader) return reader.error();
  return make_trace_source(std::move(*reader));
}

const TraceFormat* format_of(const std::string& trace) {
  const auto [named, path] = split_trace(trace);
  if (named != nullptr) return named;
  const TraceFormat* const format = recognised(beginning_of(path));
  return format != nullptr ? format : &kDefault;
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
