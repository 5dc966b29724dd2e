#include "sorted_trace.h"

#include <algorithm>
#include <utility>
#include <vector>

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
      sort();
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
  /// Sorts the records by time; those of one time keep their order.
  void sort() {
    // Not std::stable_sort, whose buffer is deprecated in libstdc++ 12.
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (const TraceRecord& record : records_) order.emplace_back(record.time_ms, order.size());
    std::sort(order.begin(), order.end());
    std::vector<TraceRecord> sorted;
    sorted.reserve(records_.size());
    for (const auto& [time, at] : order) sorted.push_back(std::move(records_[at]));
    records_ = std::move(sorted);
  }

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
