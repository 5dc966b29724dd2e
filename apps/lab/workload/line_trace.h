#pragma once

#include "line_problem.h"
#include "line_reader.h"
#include "trace_record.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::workload {

/// A trace with one request per line of text. Adds FILE:LINE to errors, skips blank lines, and ends at the first error.
class LineTrace : public TraceReader {
 public:
  explicit LineTrace(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}

  Result<bool> next(TraceRecord& record) final;
  double progress() const final { return lines_->progress(); }
  Doubts doubts() const final { return lines_->doubts(); }

 protected:
  enum class Line { request, other };
  struct Taken {
    Line line = Line::request;  ///< other: a heading
    std::optional<LineProblem> problem{};
  };
  /// Fills `record`, which was cleared before.
  virtual Taken take(std::string_view line, TraceRecord& record) = 0;
  /// Describes a file of this format, for an error message: "one JSON object per line".
  virtual std::string expected() const = 0;

 private:
  Result<bool> read(TraceRecord& record);

  std::unique_ptr<LineReader> lines_;
  bool any_ = false;
  std::optional<Error> failed_;
};

}  // namespace canopy::workload
