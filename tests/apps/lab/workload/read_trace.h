#pragma once

#include <doctest/doctest.h>
#include <support/folder.h>
#include <workload/formats/native_trace.h>
#include <workload/trace_formats.h>

#include <cstddef>
#include <string>
#include <vector>

/// Whole traces, read from what a test writes.
namespace canopy::test {

using workload::open_records;
using workload::TraceOptions;
using workload::TraceRecord;

/// A folder with a file for a trace.
struct TraceFolder : Folder {
  std::string write(const std::string& content) const { return file("file", content); }
  std::string path() const { return at("file"); }
};

/// All of a trace, or the first thing that is wrong with it.
struct Read {
  std::vector<TraceRecord> records;
  std::vector<std::string> notes;
  std::string error;
};

/// Reads a trace to its end.
inline Read read(const std::string& trace, const TraceOptions& options = {}) {
  Read all;
  auto reader = open_records(trace, options);
  if (!reader) return {{}, {}, reader.error().text};
  for (TraceRecord record;;) {
    auto got = (*reader)->next(record);
    if (!got) {
      all.error = got.error().text;
      auto again = (*reader)->next(record);
      CHECK((!again && again.error().text == all.error));
      return all;
    }
    if (!*got) break;
    all.records.push_back(record);
  }
  CHECK((*reader)->progress() == 1.0);
  all.notes = (*reader)->notes();
  return all;
}

/// Returns the error of a file of one format, without the file's name.
inline std::string error_of(const char* format, const std::string& content, const TraceOptions& options = {}) {
  const TraceFolder folder;
  const std::string path = folder.write(content), error = read(format + (":" + path), options).error;
  return error.starts_with(path) ? error.substr(path.size()) : error;
}

inline bool same(const TraceRecord& a, const TraceRecord& b) {
  return a.time_ms == b.time_ms && a.space == b.space && a.priority == b.priority && a.hints == b.hints &&
         a.turn == b.turn && a.output_tokens == b.output_tokens && a.tokens == b.tokens && a.block == b.block &&
         a.ids == b.ids && a.answer == b.answer && a.length() == b.length();
}

/// Checks that the records, written in Canopy's own format and read again, are the same.
inline void check_import(const std::vector<TraceRecord>& records) {
  std::string lines;
  for (const TraceRecord& record : records) lines += workload::native_line(record);
  const TraceFolder folder;
  const Read again = read(folder.write(lines));
  CHECK(again.error == "");
  REQUIRE(again.records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(same(records[i], again.records[i]));
}

}  // namespace canopy::test
