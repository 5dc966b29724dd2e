#pragma once

#include "line_reader.h"

#include <canopy/base/result.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace canopy::workload {

/// The JSON objects of a file one after another: elements of a list over many lines, or one object per line. Only one
/// is in memory at a time, at most 64 MiB. The content of an object is not checked.
class JsonObjects {
 public:
  explicit JsonObjects(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}

  /// Reads the next object's text, with its line ends. Returns false at the end.
  Result<bool> next(std::string& object);
  /// Returns FILE:LINE:COLUMN of byte `offset` of the latest object.
  std::string place(std::size_t offset) const;
  const LineReader& lines() const { return *lines_; }

 private:
  Result<bool> refill();
  Error wrong(const std::string& what) const;

  std::unique_ptr<LineReader> lines_;
  std::string_view line_;
  std::size_t at_ = 0, number_ = 0;  ///< position in the line; number of the line
  bool in_list_ = false, any_ = false;
  std::size_t first_line_ = 0, first_column_ = 0;
  std::string object_;
};

}  // namespace canopy::workload
