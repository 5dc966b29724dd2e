#include "mooncake_trace.h"

#include "first_keys.h"
#include "line_reader.h"
#include "line_trace.h"
#include "mooncake_line.h"
#include "objects.h"
#include "sorted_trace.h"
#include "trace_formats.h"
#include "trace_source.h"

#include <canopy/base/figures.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace canopy::workload {
namespace {

class MooncakeTrace final : public LineTrace {
 public:
  MooncakeTrace(std::unique_ptr<LineReader> lines, std::uint64_t block)
      : LineTrace(std::move(lines)), block_(block), line_(block) {}

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (delayed_ > 0)
      notes.push_back(plural(delayed_, "turn") +
                      " have no time: each comes its delay after the turn before, as if answers took no time");
    if (other_beginning_ > 0)
      notes.push_back(
          plural(other_beginning_, "turn") +
          " begin with another id than the first turn with ids of their session: if the file has only the new part "
          "of each turn, their prompts are too short here, and what they reuse is not counted");
    if (without_ids_ > 0)
      notes.push_back(plural(without_ids_, "request") +
                      " have lengths and no hash_ids, so they share nothing, and no hit rate can come of them");
    if (without_answer_ > 0)
      notes.push_back(plural(without_answer_, "request") + " have no output_length: their answers have 0 tokens here");
    return notes;
  }

 private:
  Taken take(std::string_view text, TraceRecord& record) override {
    if (auto problem = line_.read(text)) return {Line::request, std::move(problem)};
    // A timestamp may lie before the previous one: traces are merged from several frontends whose clocks differ. The
    // order of the file is the order in which the cache received the requests, so it stays the order of arrival.
    record.time_ms = line_.timestamp;
    if (!line_.session.empty()) take_turn(record);
    record.output_tokens = line_.output_length;
    record.hints = line_.hints;
    record.block = block_;
    record.input_tokens = line_.input_length;
    without_answer_ += !line_.has_output;
    if (line_.has_ids) record.ids.swap(line_.hash_ids);
    else add_own_ids(record, ++without_ids_);
    return {};
  }

  /// Gives a turn its number, and its time where the file has only the delay after the turn before.
  void take_turn(TraceRecord& record) {
    Session& session = sessions_[line_.session];
    if (!line_.has_time) record.time_ms = session.latest_ms + line_.delay, ++delayed_;
    session.latest_ms = record.time_ms;
    record.turn = ++session.turns;
    if (line_.hash_ids.empty()) return;
    if (!session.first_id) session.first_id = line_.hash_ids.front();
    other_beginning_ += *session.first_id != line_.hash_ids.front();
  }

  std::string expected() const override { return "one JSON object per line"; }

  struct Session {
    std::uint64_t latest_ms = 0;
    std::optional<std::uint64_t> first_id;  ///< that with which its first turn that has ids begins
    std::uint32_t turns = 0;
  };

  std::uint64_t block_;
  MooncakeLine line_;
  std::unordered_map<std::string, Session> sessions_;
  std::uint64_t delayed_ = 0, other_beginning_ = 0, without_ids_ = 0, without_answer_ = 0;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_mooncake_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  auto trace = std::make_unique<MooncakeTrace>(std::move(*lines), options.block ? options.block : kMooncakeBlock);
  // Files of sessions list one session after another, and only the delays say when a turn came.
  if (std::ranges::count(first_keys(beginning_of(path)), "session_id") > 0) return by_time(std::move(trace));
  return std::unique_ptr<TraceReader>(std::move(trace));
}

Result<std::unique_ptr<RequestSource>> open_mooncake_trace(const std::string& path, std::uint64_t block) {
  auto reader = read_mooncake_trace(path, {.block = block});
  if (!reader) return reader.error();
  return make_trace_source(std::move(*reader));
}

}  // namespace canopy::workload
