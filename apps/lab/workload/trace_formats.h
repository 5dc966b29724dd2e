#pragma once

#include "mooncake_line.h"
#include "request_source.h"
#include "trace_record.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace canopy::workload {

/// Options for information that a file does not contain. Each format reads the options that apply to it.
struct TraceOptions {
  std::uint64_t block = 0;           ///< tokens per id of a prompt; 0: as the format is published
  std::uint64_t conversations = 64;  ///< sharegpt: conversations open at a time
  std::uint64_t token_bytes = 0;     ///< csv, oracle: sizes are bytes, of which so many are a token; 0: tokens
  std::string columns{};             ///< csv: "time=2,id=5,size=4", counted from 1; empty: from the heading
};

/// A format of recorded requests. To add one: a file in formats/ that defines read_NAME_trace(path, options), and its
/// line in trace_formats.cpp.
struct TraceFormat {
  const char *name, *summary;
  Result<std::unique_ptr<TraceReader>> (*open)(const std::string& path, const TraceOptions& options);
  /// Keys in quotes of its first object, or texts of its beginning, with bars between them: a file that has one of them
  /// needs no format before its path. Null: the format must always be named.
  const char* mark;
};
std::span<const TraceFormat> trace_formats();

/// Opens a trace. `trace` is PATH or FORMAT:PATH. Without a format, the beginning of the file decides. If that has no
/// format's mark, the file is read as Mooncake's where it may be one, and is refused otherwise.
Result<std::unique_ptr<TraceReader>> open_records(const std::string& trace, const TraceOptions& options);
/// Opens a trace as requests with their tokens. `block`: as in TraceOptions.
Result<std::unique_ptr<RequestSource>> open_trace(const std::string& trace, std::uint64_t block = 0);

/// The parts of a `trace`.
struct TraceName {
  const TraceFormat* format = nullptr;
  std::string path;
};
TraceName split_trace(const std::string& trace);
/// Returns the format as which a trace is read: the one that is named, or the one that the beginning of the file has.
const TraceFormat* format_of(const std::string& trace);
/// Returns PATH of such a name.
std::string trace_path(const std::string& trace);
/// Returns the file's name, without its folder and the format.
std::string trace_name(const std::string& trace);
/// Returns the possible values of `trace` in one line, for a command's help.
std::string trace_help();

}  // namespace canopy::workload
