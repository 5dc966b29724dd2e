#include "line_reader.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace canopy::workload {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

Error not_opened(const std::string& path, int reason) {
  return Error{path + ": cannot be opened: " + std::generic_category().message(reason)};
}

}  // namespace

/// zlib reads an uncompressed file unchanged.
struct LineReader::Packed {
  gzFile file = nullptr;
  explicit Packed(gzFile opened) : file(opened) {}
  ~Packed() { ::gzclose(file); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
};

LineReader::LineReader(std::string path, std::uint64_t size, std::unique_ptr<Packed> file)
    : path_(std::move(path)), size_(size), file_(std::move(file)) {}
LineReader::~LineReader() = default;

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  const OpenedFile there = open_regular(path);
  if (there.error != 0) return not_opened(path, there.error);
  if (!there.descriptor) return Error{path + ": is " + kind_of(there.facts.st_mode) + "; expected a regular file"};
  const int own = ::fcntl(there.descriptor.get(), F_DUPFD_CLOEXEC, 0);
  if (own < 0) return not_opened(path, errno);
  const gzFile file = ::gzdopen(own, "rb");
  if (file == nullptr) {
    ::close(own);
    throw std::bad_alloc();
  }
  ::gzbuffer(file, kChunk);
  return std::unique_ptr<LineReader>(
      new LineReader(path, static_cast<std::uint64_t>(there.facts.st_size), std::make_unique<Packed>(file)));
}

Result<bool> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kChunk) buffer_.resize(std::max(end_ + kChunk, 2 * buffer_.size()));
  const int got = ::gzread(file_->file, buffer_.data() + end_, kChunk);
  int state = Z_OK;
  const char* why = ::gzerror(file_->file, &state);
  if (got < 0 || state != Z_OK) {
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    ++number_;
    if (state == Z_BUF_ERROR) return Error{place() + ": the gzip data ends too early; was the file cut off?"};
    if (state == Z_ERRNO) return Error{place() + ": the file cannot be read beyond this line"};
    return Error{place() + ": the gzip data is damaged: " + (why != nullptr ? why : "no reason is given")};
  }
  end_ += static_cast<std::size_t>(got);
  return got > 0;
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

double LineReader::progress() const {
  if (size_ == 0) return 1;
  const bool plain = ::gzdirect(file_->file) == 1;
  const auto at = plain ? static_cast<double>(consumed_) : static_cast<double>(::gzoffset(file_->file));
  // A file that grows while it is read has more bytes than when it was opened.
  return std::clamp(at / static_cast<double>(size_), 0.0, 1.0);
}

}  // namespace canopy::workload
