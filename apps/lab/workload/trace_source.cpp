#include "trace_source.h"

#include "retention.h"
#include "text.h"

#include <algorithm>
#include <utility>

namespace canopy::workload {
namespace {

class TraceSource final : public RequestSource {
 public:
  explicit TraceSource(std::unique_ptr<TraceReader> reader) : reader_(std::move(reader)) {}

  Result<bool> next(ClientRequest& request) override {
    auto got = reader_->next(record_);
    if (got && *got) retentions_.add(record_.retention, record_.length());
    if (got && *got) expand(request);
    return got;
  }
  double progress() const override { return reader_->progress(); }
  Doubts doubts() const override { return reader_->doubts(); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = reader_->notes();
    retentions_.add_note(notes);
    return notes;
  }

 private:
  void expand(ClientRequest& request) {
    request.arrival_ms = record_.time_ms;
    request.space = record_.space;
    request.priority = record_.priority;
    request.hints = record_.hints;
    request.output_tokens = record_.output_tokens;
    request.retention = record_.retention;
    request.turn = record_.turn;
    request.answer.swap(record_.answer);
    if (record_.block == 0) return request.prompt.swap(record_.tokens);
    request.prompt.resize(record_.input_tokens);
    Token* to = request.prompt.data();
    std::size_t left = request.prompt.size();
    for (const std::uint64_t id : record_.ids) {
      const std::size_t count = std::min<std::size_t>(left, record_.block);
      write_text(id * record_.block, to, count);
      to += count;
      left -= count;
    }
  }

  std::unique_ptr<TraceReader> reader_;
  TraceRecord record_;
  LongRetentions retentions_;
};

}  // namespace

std::unique_ptr<RequestSource> make_trace_source(std::unique_ptr<TraceReader> reader) {
  return std::make_unique<TraceSource>(std::move(reader));
}

}  // namespace canopy::workload
