#include "line_trace.h"

namespace canopy::workload {

Result<bool> LineTrace::next(TraceRecord& record) {
  if (failed_) return *failed_;
  auto got = read(record);
  if (!got) failed_ = got.error();
  return got;
}

Result<bool> LineTrace::read(TraceRecord& record) {
  std::string_view text;
  for (;;) {
    auto got = lines_->next(text);
    if (!got) return got.error();
    if (!*got && !any_) return Error{lines_->path() + ": has no requests; expected " + expected()};
    if (!*got) return false;
    if (text.find_first_not_of(" \t") == text.npos) continue;
    record.clear();
    const Taken taken = take(text, record);
    if (taken.problem) {
      const std::string column = taken.problem->column > 0 ? ":" + std::to_string(taken.problem->column) : "";
      return Error{lines_->place() + column + ": " + taken.problem->text};
    }
    if (taken.line == Line::other) continue;
    return any_ = true;
  }
}

}  // namespace canopy::workload
