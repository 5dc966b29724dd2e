#include "trace_formats.h"

#include <filesystem>
#include <utility>

// One line for each format; the first is the default.
#define CANOPY_TRACE_FORMATS(FORMAT) \
  FORMAT(mooncake, "Mooncake JSONL: lengths, and a hash id for each block of tokens, see --block-size")

namespace canopy::workload {

#define CANOPY_DECLARE(name, summary) \
  Result<std::unique_ptr<RequestSource>> open_##name##_trace(const std::string&, std::uint64_t);
CANOPY_TRACE_FORMATS(CANOPY_DECLARE)

namespace {

#define CANOPY_LIST(name, summary) {#name, summary, open_##name##_trace},
constexpr TraceFormat kFormats[] = {CANOPY_TRACE_FORMATS(CANOPY_LIST)};

/// A prefix that is no format's name belongs to the path.
std::pair<const TraceFormat*, std::string> split(const std::string& trace) {
  for (const TraceFormat& format : kFormats)
    if (const std::string prefix = std::string(format.name) + ":"; trace.starts_with(prefix))
      return {&format, trace.substr(prefix.size())};
  return {&kFormats[0], trace};
}

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block) {
  const auto [format, path] = split(trace);
  return format->open(path, block);
}

std::string trace_path(const std::string& trace) { return split(trace).second; }

std::string trace_name(const std::string& trace) { return std::filesystem::path(split(trace).second).filename(); }

std::string trace_help() {
  std::string text = "trace, as PATH or FORMAT:PATH; formats:";
  for (const TraceFormat& format : kFormats)
    text += std::string(&format == kFormats ? " " : "; ") + format.name + " (" + format.summary + ")";
  return text;
}

}  // namespace canopy::workload
