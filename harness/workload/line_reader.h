#pragma once

#include <canopy/support/file.h>
#include <canopy/support/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

/// The lines of a regular file, one at a time and none beyond 64 MiB: a file without line ends costs an error
/// and that much memory, whatever its size.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

  static Result<std::unique_ptr<LineReader>> open(const std::string& path);

  /// The next line without its end (LF or CRLF), valid until the next call. False behind the last.
  Result<bool> next(std::string_view& line);

  std::uint64_t number() const { return number_; }      ///< of the line last read, from 1
  std::uint64_t consumed() const { return consumed_; }  ///< bytes
  std::uint64_t size() const { return size_; }          ///< of the file when it was opened
  std::string place() const { return path_ + ":" + std::to_string(number_); }

 private:
  LineReader(std::string path, UniqueFd file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}
  Result<std::monostate> refill();
  std::string_view take(std::size_t bytes);

  std::string path_;
  UniqueFd file_;
  std::uint64_t size_, consumed_ = 0, number_ = 0;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< what of the buffer has been read and not yet handed out
};

}  // namespace canopy::workload
