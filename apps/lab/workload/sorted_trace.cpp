#include "sorted_trace.h"

#include <algorithm>
#include <utility>

namespace canopy::workload {
namespace {

class SortedTrace final : public TraceReader {
 public:
  explicit SortedTrace(std::unique_ptr<TraceReader> trace) : trace_(std::move(trace)) {}

  Result<bool> next(TraceRecord& record) override {
    while (!read_) {
      auto got = trace_->next(record);
      if (!got) return got.error();
      if (*got) {
        records_.push_back(record);
        continue;
      }
      read_ = true;
      std::stable_sort(records_.begin(), records_.end(),
                       [](const TraceRecord& a, const TraceRecord& b) { return a.time_ms < b.time_ms; });
    }
    if (next_ == records_.size()) return false;
    record = std::move(records_[next_++]);
    return true;
  }
  double progress() const override {
    return read_ ? static_cast<double>(next_ + 1) / static_cast<double>(records_.size() + 1) : 0;
  }
  Doubts doubts() const override { return trace_->doubts(); }
  std::vector<std::string> notes() const override { return trace_->notes(); }

 private:
  std::unique_ptr<TraceReader> trace_;
  std::vector<TraceRecord> records_;
  std::size_t next_ = 0;
  bool read_ = false;
};

}  // namespace

std::unique_ptr<TraceReader> by_time(std::unique_ptr<TraceReader> trace) {
  return std::make_unique<SortedTrace>(std::move(trace));
}

}  // namespace canopy::workload
