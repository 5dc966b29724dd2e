#pragma once

#include "request_source.h"

#include <memory>
#include <span>
#include <string>

namespace canopy::workload {

/// A format of recorded requests. To add one: a file that defines open_NAME_trace(path), and its line in
/// trace_formats.cpp.
struct TraceFormat {
  const char *name, *summary;
  Result<std::unique_ptr<RequestSource>> (*open)(const std::string& path);
};
std::span<const TraceFormat> trace_formats();

/// `trace` is PATH or FORMAT:PATH; without a format it is the first one.
Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace);
/// The file's name, without its folder and the format.
std::string trace_name(const std::string& trace);
/// What `trace` may be, in one line for a command's help.
std::string trace_help();

}  // namespace canopy::workload
