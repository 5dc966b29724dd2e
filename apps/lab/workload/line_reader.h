#pragma once

#include "packed_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace canopy::workload {

/// Reads the lines of a regular file, plain or compressed (packed_file.h), one at a time. A line longer than 64 MiB is
/// an error, so a file without line ends never takes more memory than that, however well it is compressed.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

  static Result<std::unique_ptr<LineReader>> open(const std::string& path);

  /// Reads the next line without its end (LF or CRLF) and the first without a byte order mark, valid until the next
  /// call. Returns false after the last line.
  Result<bool> next(std::string_view& line);

  const std::string& path() const { return file_->path(); }
  std::string place() const { return path() + ":" + std::to_string(number_); }  ///< FILE:LINE of the latest line
  Doubts doubts() const { return file_->doubts(); }                             ///< PackedFile::doubts
  double progress() const { return file_->progress(consumed_); }                ///< part of the file, 0..1

 private:
  explicit LineReader(std::unique_ptr<PackedFile> file) : file_(std::move(file)) {}
  /// Appends the next bytes to the buffer. Returns false at the end of the file.
  Result<bool> fill();

  std::unique_ptr<PackedFile> file_;
  std::uint64_t consumed_ = 0, number_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< unread part of the buffer
};

/// Returns the beginning of a file up to the end of its first line that is not blank, and of the lines after it where
/// that one is shorter than an object can be, as in JSON over many lines; of a line at most 1 MiB. "" if there is none
/// or it cannot be read.
std::string beginning_of(const std::string& path);

}  // namespace canopy::workload
