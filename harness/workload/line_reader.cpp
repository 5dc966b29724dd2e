#include "line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace canopy::workload {
namespace {

constexpr std::size_t kFirstBuffer = std::size_t{256} << 10;

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  OpenedFile file = open_regular(path);
  if (file.error != 0) return Error{path + ": cannot be opened: " + reason(file.error)};
  if (!file.descriptor) return Error{path + ": is " + kind_of(file.facts.st_mode) + "; expected a regular file"};
  const auto size = static_cast<std::uint64_t>(file.facts.st_size);
  return std::unique_ptr<LineReader>(new LineReader(path, std::move(file.descriptor), size));
}

Result<bool> LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const std::size_t have = end_ - begin_;
    if (const void* found = have > searched ? std::memchr(start + searched, '\n', have - searched) : nullptr) {
      line = take(static_cast<std::size_t>(static_cast<const char*>(found) - start) + 1);
      line.remove_suffix(1);
      break;
    }
    if (have > kMaxLine) {
      ++number_;
      return Error{place() + ": is longer than " + std::to_string(kMaxLine) + " bytes; expected one request a line"};
    }
    if (at_end_) {
      if (have == 0) return false;
      line = take(have);
      break;
    }
    searched = have;
    if (auto read = refill(); !read) return read.error();
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string_view LineReader::take(std::size_t bytes) {
  const std::string_view taken(buffer_.data() + begin_, bytes);
  begin_ += bytes;
  consumed_ += bytes;
  ++number_;
  return taken;
}

/// Reads more behind what is there; makes room first, by moving and then by growing.
Result<std::monostate> LineReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(std::clamp(2 * buffer_.size(), kFirstBuffer, kMaxLine + 1));
  ssize_t got;
  do {
    got = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Error{path_ + ": cannot be read behind line " + std::to_string(number_) + ": " + reason(errno)};
  at_end_ = got == 0;
  end_ += static_cast<std::size_t>(got);
  return std::monostate{};
}

}  // namespace canopy::workload
