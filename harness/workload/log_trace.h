#pragma once

#include "line_trace.h"
#include "log_outputs.h"

#include <string>
#include <vector>

namespace canopy::workload {

/// A server's log as a trace: lines about other things are passed over, requests without token ids are left out where
/// the caller wants that, and the answers' lengths come from elsewhere in the log.
class LogTrace : public LineTrace {
 public:
  LogTrace(std::unique_ptr<LineReader> lines, LogOutputs outputs, bool leave_out)
      : LineTrace(std::move(lines)), outputs_(std::move(outputs)), leave_out_(leave_out) {}

  std::vector<std::string> notes() const final;

 protected:
  /// A request whose prompt the log does not have; `why` goes into the error.
  Taken without_tokens(const std::string& why);
  /// The answer of `request`, whose prompt the record has.
  Taken with_output(std::string_view request, TraceRecord& record);

 private:
  LogOutputs outputs_;
  bool leave_out_;
  std::uint64_t requests_ = 0, left_out_ = 0, unanswered_ = 0, longest_ = 0, as_long_ = 0;
};

}  // namespace canopy::workload
