#include "log_trace.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

namespace canopy::workload {

LineTrace::Taken LogTrace::without_tokens(const std::string& why) {
  if (!leave_out_) return {Line::request, LineProblem{0, why + "; `canopy trace import` leaves such requests out"}};
  ++left_out_;
  return {Line::other};
}

LineTrace::Taken LogTrace::with_output(std::string_view request, TraceRecord& record) {
  record.output_tokens = outputs_.of(request);
  ++requests_;
  if (record.output_tokens == 0) ++unanswered_;
  if (record.length() > longest_) longest_ = record.length(), as_long_ = 0;
  if (record.length() == longest_) ++as_long_;
  return {};
}

std::vector<std::string> LogTrace::notes() const {
  std::vector<std::string> notes;
  if (left_out_ > 0)
    notes.push_back(fmt::format("{} came without token ids and {} left out", plural(left_out_, "request"),
                                left_out_ == 1 ? "is" : "are"));
  if (unanswered_ > 0)
    notes.push_back(fmt::format("the log does not say how long the answers to {} are; their output_tokens are 0",
                                plural(unanswered_, "request")));
  // A server that logs the first N ids of a prompt says so nowhere, and the rest would be missing from every figure.
  constexpr std::uint64_t kMany = 3, kPart = 50;
  if (as_long_ >= kMany && as_long_ > requests_ / kPart)
    notes.push_back(fmt::format("{} have {}, and none has more: was the log cut, as vLLM's --max-log-len does?",
                                plural(as_long_, "prompt"), plural(longest_, "token")));
  return notes;
}

}  // namespace canopy::workload
