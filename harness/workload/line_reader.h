#pragma once

#include <canopy/support/file.h>
#include <canopy/support/result.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace canopy::workload {

/// Reads the lines of a regular file, one at a time. A line longer than 64 MiB is an error, so a file without line ends
/// never takes more memory than that.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

  static Result<std::unique_ptr<LineReader>> open(const std::string& path);

  /// The next line without its end (LF or CRLF), valid until the next call. False after the last line.
  Result<bool> next(std::string_view& line);

  std::uint64_t consumed() const { return consumed_; }                         ///< bytes
  std::uint64_t size() const { return size_; }                                 ///< of the file when it was opened
  std::string place() const { return path_ + ":" + std::to_string(number_); }  ///< FILE:LINE of the line last read

 private:
  LineReader(const std::string& path, std::uint64_t size) : path_(path), file_(path, std::ios::binary), size_(size) {}

  std::string path_;
  std::ifstream file_;
  std::uint64_t size_, consumed_ = 0, number_ = 0;
  /// The system gives memory only to the part that a line has filled.
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kMaxLine + 1);
};

}  // namespace canopy::workload
