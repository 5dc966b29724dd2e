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
  // The mark that some programs write at the beginning of a file in UTF-8 is no part of its text.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return true;
}

std::string beginning_of(const std::string& path) {
  constexpr std::size_t kShortest = 8, kEnough = 4096, kMost = std::size_t{1} << 20;
  std::string text;
  auto lines = LineReader::open(path);
  std::string_view line;
  while (lines) {
    auto got = (*lines)->next(line);
    if (!got || !*got) break;
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == line.npos) continue;
    // A list or an object over many lines begins with a bracket alone, or with a line that is no whole object.
    const bool open = line[first] == '[' || (line[first] == '{' && line.find('}') == line.npos) || !text.empty();
    text += line.substr(text.empty() ? first : 0, kMost);
    if (!open || (line.size() > kShortest && line.find('}') != line.npos) || text.size() > kEnough) break;
  }
  return text;
}

}  // namespace canopy::workload
