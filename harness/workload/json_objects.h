#pragma once

#include "line_reader.h"

#include <canopy/support/result.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace canopy::workload {

/// The JSON objects of a file one after the other: of a list over many lines, or one object a line. Only one is in
/// memory at a time, 64 MiB at most. What is within an object is not looked at.
class JsonObjects {
 public:
  explicit JsonObjects(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}

  /// The next object's text, with its line ends; false at the end.
  Result<bool> next(std::string& object);
  /// FILE:LINE:COLUMN of byte `offset` of the object read last.
  std::string place(std::size_t offset) const;
  const LineReader& lines() const { return *lines_; }

 private:
  Result<bool> refill();
  Error wrong(const std::string& what) const;

  std::unique_ptr<LineReader> lines_;
  std::string_view line_;
  std::size_t at_ = 0, number_ = 0;  ///< in the line; of the line
  bool in_list_ = false, any_ = false;
  std::size_t first_line_ = 0, first_column_ = 0;
  std::string object_;
};

}  // namespace canopy::workload
