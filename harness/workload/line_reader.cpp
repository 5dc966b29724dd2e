#include "line_reader.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace canopy::workload {
namespace {

namespace fs = std::filesystem;

const char* kind_of(fs::file_type type) {
  if (type == fs::file_type::directory) return "a folder";
  if (type == fs::file_type::fifo) return "a pipe";
  if (type == fs::file_type::socket) return "a socket";
  return "a device";
}

Error not_opened(const std::string& path, const std::error_code& reason) {
  return Error{path + ": cannot be opened: " + reason.message()};
}

}  // namespace

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  std::error_code reason;
  // Asked before the file is opened: opening a pipe waits for a writer.
  const fs::file_status status = fs::status(path, reason);
  if (!fs::exists(status)) return not_opened(path, reason);
  if (!fs::is_regular_file(status)) return Error{path + ": is " + kind_of(status.type()) + "; expected a regular file"};
  const std::uintmax_t size = fs::file_size(path, reason);
  errno = 0;
  std::unique_ptr<LineReader> lines(new LineReader(path, size));
  if (!lines->file_) return not_opened(path, {errno, std::generic_category()});
  return lines;
}

Result<bool> LineReader::next(std::string_view& line) {
  file_.getline(buffer_.get(), kMaxLine + 1);
  auto count = static_cast<std::size_t>(file_.gcount());
  if (file_.bad()) return Error{place() + ": the file cannot be read beyond this line"};
  if (count == 0) return false;
  ++number_;
  if (file_.fail())
    return Error{place() + ": is longer than " + std::to_string(kMaxLine) + " bytes; expected one request a line"};
  consumed_ += count;
  if (!file_.eof()) --count;  // the LF
  line = {buffer_.get(), count};
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

}  // namespace canopy::workload
