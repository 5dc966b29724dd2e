#include "mooncake_trace.h"

#include "line_trace.h"
#include "mooncake_line.h"
#include "trace_formats.h"
#include "trace_source.h"

#include <utility>

namespace canopy::workload {
namespace {

class MooncakeTrace final : public LineTrace {
 public:
  MooncakeTrace(std::unique_ptr<LineReader> lines, std::uint64_t block)
      : LineTrace(std::move(lines)), block_(block), line_(block) {}

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    if (auto problem = line_.read(text)) return {Line::request, std::move(problem)};
    // A timestamp may lie before the previous one: traces are merged from several frontends whose clocks differ. The
    // order of the file is the order in which the cache received the requests, so it stays the order of arrival.
    record.time_ms = line_.timestamp;
    record.output_tokens = line_.output_length;
    record.hints = line_.hints;
    record.block = block_;
    record.input_tokens = line_.input_length;
    record.ids.swap(line_.hash_ids);
    return {};
  }
  std::string expected() const override { return "one JSON object per line"; }

  std::uint64_t block_;
  MooncakeLine line_;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_mooncake_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(
      std::make_unique<MooncakeTrace>(std::move(*lines), options.block ? options.block : kMooncakeBlock));
}

Result<std::unique_ptr<RequestSource>> open_mooncake_trace(const std::string& path, std::uint64_t block) {
  auto reader = read_mooncake_trace(path, {.block = block});
  if (!reader) return reader.error();
  return make_trace_source(std::move(*reader));
}

}  // namespace canopy::workload
