#include "line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace canopy::workload {

static constexpr std::size_t kChunk = std::size_t{256} << 10;

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  auto file = PackedFile::open(path);
  if (!file) return file.error();
  return std::unique_ptr<LineReader>(new LineReader(std::move(*file)));
}

Result<bool> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kChunk) buffer_.resize(std::max(end_ + kChunk, 2 * buffer_.size()));
  auto got = file_->read({buffer_.data() + end_, kChunk});
  if (!got) {
    ++number_;
    return Error{place() + ": " + got.error().text};
  }
  end_ += *got;
  return *got > 0;
}

Result<bool> LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  const char* found = nullptr;
  for (;;) {
    const char* first = buffer_.data() + begin_;
    const std::size_t there = end_ - begin_;
    found =
        there > searched ? static_cast<const char*>(std::memchr(first + searched, '\n', there - searched)) : nullptr;
    if (found != nullptr || there > kMaxLine + 1) break;
    searched = there;
    auto more = fill();
    if (!more) return more.error();
    if (!*more) break;
  }
  std::size_t count = found != nullptr ? static_cast<std::size_t>(found - buffer_.data()) - begin_ : end_ - begin_;
  if (count == 0 && found == nullptr) return false;
  ++number_;
  if (count > kMaxLine)
    return Error{place() + ": is longer than " + std::to_string(kMaxLine) + " bytes; expected one request per line"};
  line = {buffer_.data() + begin_, count};
  count += found != nullptr ? 1 : 0;
  begin_ += count;
  consumed_ += count;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

}  // namespace canopy::workload
