/// Hostile files of every format of traces: each is read, or refused with a sentence, and what is read can be written
/// and read again.
#include "fuzz.h"

#include <workload/formats/native_trace.h>
#include <workload/text.h>
#include <workload/trace_formats.h>
#include <workload/trace_stat.h>

namespace {

using namespace canopy;
using namespace canopy::workload;

constexpr int kMostRecords = 200;

void check_record(const TraceRecord& record) {
  EXPECT(record.length() <= kMaxPromptTokens, record.space);
  EXPECT(record.block <= kMaxTraceBlock, record.space);
  if (record.block > 0) {
    EXPECT(record.ids.size() == (record.input_tokens + record.block - 1) / record.block, record.space);
    for (const std::uint64_t id : record.ids) EXPECT(id <= ~std::uint64_t{0} / record.block, record.space);
  }
}

/// Reads a file, and hands what was read to `take`.
template <class Take>
void read(const std::string& trace, Take&& take) {
  auto reader = open_records(trace, {.conversations = 3});
  if (!reader) return canopy::fuzz::expect_sentence(reader.error().text);
  TraceRecord record;
  for (int i = 0; i < kMostRecords; ++i) {
    auto got = (*reader)->next(record);
    if (!got) return canopy::fuzz::expect_sentence(got.error().text);
    if (!*got) break;
    take(record);
  }
  EXPECT((*reader)->progress() >= 0 && (*reader)->progress() <= 1, trace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static canopy::fuzz::File file, written;
  file.hold(canopy::fuzz::text_of(data, size));
  for (const TraceFormat& format : trace_formats()) {
    TraceStat stat(16);
    std::string lines;
    std::uint64_t tokens = 0, again = 0;
    read(std::string(format.name) + ":" + file.path(), [&](const TraceRecord& record) {
      check_record(record);
      stat.add(record);
      tokens += record.length();
      lines += native_line(record);
    });
    const TraceFacts facts = stat.facts();
    EXPECT(facts.prompt_tokens == tokens && facts.distinct_tokens + facts.reused_tokens == tokens, lines);
    if (lines.empty()) continue;
    written.hold(lines);
    read("canopy:" + written.path(), [&](const TraceRecord& record) { again += record.length(); });
    EXPECT(again == tokens, lines);
  }
  return 0;
}
