#pragma once

#include "mooncake_line.h"
#include "request_source.h"
#include "trace_record.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace canopy::workload {

/// What a file does not say about itself. Each format reads the options that mean something to it.
struct TraceOptions {
  std::uint64_t block = 0;           ///< tokens that one id of a prompt stands for; 0: as the format is published
  std::uint64_t conversations = 64;  ///< sharegpt: how many are open at a time
  std::string columns{};             ///< csv: "time=2,id=5,size=4", counted from 1; empty: by the heading
  /// Requests that cannot be used but are well formed, such as those without token ids: left out and told in the
  /// reader's notes. Otherwise they are errors.
  bool leave_out = false;
};

/// A format of recorded requests. To add one: a file in formats/ that defines read_NAME_trace(path, options), and its
/// line in trace_formats.cpp.
struct TraceFormat {
  const char *name, *summary;
  Result<std::unique_ptr<TraceReader>> (*open)(const std::string& path, const TraceOptions& options);
  /// Part of a line that no other format has: a file whose first line contains it needs no format before its path.
  /// Null: always named.
  const char* mark;
};
std::span<const TraceFormat> trace_formats();

/// `trace` is PATH or FORMAT:PATH. Without a format, the first line of the file decides, and where it has no format's
/// mark, the file is read as the first format.
Result<std::unique_ptr<TraceReader>> open_records(const std::string& trace, const TraceOptions& options);
/// The same as requests with their tokens. `block`: as TraceOptions has it.
Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block = 0);

/// A `trace` taken apart.
struct TraceName {
  const TraceFormat* format = nullptr;
  std::string path;
};
TraceName split_trace(const std::string& trace);
/// PATH of such a name.
std::string trace_path(const std::string& trace);
/// The file's name, without its folder and the format.
std::string trace_name(const std::string& trace);
/// What `trace` may be, in one line for a command's help.
std::string trace_help();

}  // namespace canopy::workload
