#include "line_reader.h"

#include <cerrno>
#include <system_error>

namespace canopy::workload {
namespace {

Error not_opened(const std::string& path, int reason) {
  return Error{path + ": cannot be opened: " + std::generic_category().message(reason)};
}

}  // namespace

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  const OpenedFile there = open_regular(path);
  if (there.error != 0) return not_opened(path, there.error);
  if (!there.descriptor) return Error{path + ": is " + kind_of(there.facts.st_mode) + "; expected a regular file"};
  errno = 0;
  std::unique_ptr<LineReader> lines(new LineReader(path, static_cast<std::uint64_t>(there.facts.st_size)));
  if (!lines->file_) return not_opened(path, errno);
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
