#pragma once

#include "mooncake_line.h"
#include "request_source.h"

#include <memory>
#include <span>
#include <string>

namespace canopy::workload {

/// A format of recorded requests. To add one: a file that defines open_NAME_trace(path, block), and its line in
/// trace_formats.cpp. `block`: tokens that one id of a prompt stands for, where the format has ids.
struct TraceFormat {
  const char *name, *summary;
  Result<std::unique_ptr<RequestSource>> (*open)(const std::string& path, std::uint64_t block);
};
std::span<const TraceFormat> trace_formats();

/// `trace` is PATH or FORMAT:PATH; without a format it is the first one.
Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block = kMooncakeBlock);
/// PATH of such a name.
std::string trace_path(const std::string& trace);
/// The file's name, without its folder and the format.
std::string trace_name(const std::string& trace);
/// What `trace` may be, in one line for a command's help.
std::string trace_help();

}  // namespace canopy::workload
