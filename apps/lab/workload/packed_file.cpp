#include "packed_file.h"

#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef CANOPY_HAS_ZSTD
#include <zstd.h>
#endif

namespace canopy::workload {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

Error cannot_open(const std::string& path, int reason) {
  return Error{path + ": cannot be opened: " + std::generic_category().message(reason)};
}

/// A file of which one piece at a time is in memory, as it is on the disk.
class RawFile : public PackedFile {
 protected:
  RawFile(std::string path, const struct stat& facts, UniqueFd file)
      : PackedFile(std::move(path), facts), file_(std::move(file)), piece_(kPiece) {}

  /// Reads the next piece. REQUIRES: nothing is left of the one before.
  Result<std::monostate> fill() {
    ssize_t got = 0;
    do got = ::read(file_.get(), piece_.data(), piece_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return Error{"the file cannot be read beyond this place"};
    ended_ = got == 0;
    left_ = std::span(piece_).first(static_cast<std::size_t>(got));
    taken_ += left_.size();
    return std::monostate{};
  }

  std::span<char> left_;  ///< bytes of the piece that are not used yet
  bool ended_ = false;    ///< true if there is no further piece

 private:
  std::uint64_t position(std::uint64_t) const override { return taken_ - left_.size(); }
  int descriptor() const override { return file_.get(); }

  UniqueFd file_;
  std::vector<char> piece_;
  std::uint64_t taken_ = 0;
};

class PlainFile final : public RawFile {
 public:
  PlainFile(std::string path, const struct stat& facts, UniqueFd file)
      : RawFile(std::move(path), facts, std::move(file)) {}

  Result<std::size_t> read(std::span<char> to) override {
    if (left_.empty() && !ended_)
      if (auto more = fill(); !more) return more.error();
    const std::size_t count = std::min(to.size(), left_.size());
    std::copy_n(left_.begin(), count, to.begin());
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::uint64_t position(std::uint64_t consumed) const override { return consumed; }
};

/// One gzip stream, or several one after the other. Not zlib's gzread(), which ignores other bytes behind a stream.
class GzipFile final : public RawFile {
  static constexpr uLong kLeastHeader = 10;  // bytes

 public:
  GzipFile(std::string path, const struct stat& facts, UniqueFd file)
      : RawFile(std::move(path), facts, std::move(file)) {
    constexpr int kGzip = 16;
    if (::inflateInit2(&stream_, kGzip + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~GzipFile() override { ::inflateEnd(&stream_); }

  Result<std::size_t> read(std::span<char> to) override {
    while (!to.empty()) {
      if (left_.empty() && !ended_)
        if (auto more = fill(); !more) return more.error();
      if (is_between_ && has_stream_)  // the padding of a tape or a block device
        left_ = left_.subspan(
            static_cast<std::size_t>(std::ranges::find_if(left_, [](char c) { return c != 0; }) - left_.begin()));
      if (left_.empty() && !ended_) continue;
      if (left_.empty() && is_between_) break;
      if (left_.empty() && has_stream_ && stream_.total_out == 0 && stream_.total_in < kLeastHeader)
        return Error{"the gzip data is followed by other bytes"};
      if (left_.empty()) return Error{"the gzip data ends too early; was the file cut off?"};
      stream_.next_in = reinterpret_cast<Bytef*>(left_.data());
      stream_.avail_in = static_cast<uInt>(left_.size());
      stream_.next_out = reinterpret_cast<Bytef*>(to.data());
      stream_.avail_out = static_cast<uInt>(std::min(to.size(), kPiece));
      const uInt room = stream_.avail_out;
      const int state = ::inflate(&stream_, Z_NO_FLUSH);
      left_ = left_.last(stream_.avail_in);
      if (state == Z_MEM_ERROR) throw std::bad_alloc();
      if (state == Z_STREAM_END) {
        ::inflateReset(&stream_);
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        if (is_between_ && has_stream_) return Error{"the gzip data is followed by other bytes"};
        return Error{std::string("the gzip data is damaged: ") + (stream_.msg ? stream_.msg : "no reason is given")};
      }
      is_between_ = state == Z_STREAM_END;
      has_stream_ |= is_between_;
      if (stream_.avail_out < room) return std::size_t{room - stream_.avail_out};
    }
    return std::size_t{0};
  }

 private:
  z_stream stream_{};
  bool is_between_ = true;   ///< no stream has begun, or the last one has ended
  bool has_stream_ = false;  ///< a whole stream was read
};

#ifdef CANOPY_HAS_ZSTD
class ZstdFile final : public RawFile {
 public:
  ZstdFile(std::string path, const struct stat& facts, UniqueFd file)
      : RawFile(std::move(path), facts, std::move(file)), stream_(ZSTD_createDCtx()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdFile() override { ZSTD_freeDCtx(stream_); }

  Result<std::size_t> read(std::span<char> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0 && !to.empty()) {
      if (left_.empty() && !ended_)
        if (auto more = fill(); !more) return more.error();
      if (left_.empty() && ended_ && wanted_ == 0) break;  // at the end of a frame
      ZSTD_inBuffer in{left_.data(), left_.size(), 0};
      wanted_ = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(wanted_)) return Error{std::string("the zstd data is damaged: ") + ZSTD_getErrorName(wanted_)};
      if (ended_ && out.pos == 0 && in.pos == 0 && wanted_ != 0)
        return Error{"the zstd data ends too early; was the file cut off?"};
      left_ = left_.subspan(in.pos);
    }
    return out.pos;
  }

 private:
  ZSTD_DCtx* stream_;
  std::size_t wanted_ = 0;  ///< 0 between frames
};
#endif

/// Returns true if the file begins with these bytes. Leaves its position at the beginning.
template <std::size_t kBytes>
bool begins_with(int file, const char (&magic)[kBytes]) {
  char first[kBytes] = {};
  return ::pread(file, first, kBytes, 0) == static_cast<ssize_t>(kBytes) && std::memcmp(first, magic, kBytes) == 0;
}
constexpr char kZstd[] = {'\x28', '\xb5', '\x2f', '\xfd'}, kGzip[] = {'\x1f', '\x8b'};

}  // namespace

Result<std::unique_ptr<PackedFile>> PackedFile::open(const std::string& path) {
  OpenedFile there = open_regular(path);
  if (there.error != 0) return cannot_open(path, there.error);
  if (!there.descriptor) return Error{path + ": is " + kind_of(there.facts.st_mode) + "; expected a regular file"};
  const int file = there.descriptor.get();
  const auto opened = [&]<class File>(std::type_identity<File>) {
    return std::unique_ptr<PackedFile>(std::make_unique<File>(path, there.facts, std::move(there.descriptor)));
  };
  if (begins_with(file, kGzip)) return opened(std::type_identity<GzipFile>());
  if (!begins_with(file, kZstd)) return opened(std::type_identity<PlainFile>());
#ifdef CANOPY_HAS_ZSTD
  return opened(std::type_identity<ZstdFile>());
#else
  return Error{path +
               ": is compressed by zstd, and this Canopy was built without libzstd; decompress it first, by "
               "`zstd -d`, or build with libzstd-dev"};
#endif
}

PackedFile::PackedFile(std::string path, const struct stat& facts)
    : path_(std::move(path)),
      size_(static_cast<std::uint64_t>(facts.st_size)),
      changed_s_(facts.st_mtim.tv_sec),
      changed_ns_(facts.st_mtim.tv_nsec) {}

Doubts PackedFile::doubts() const {
  struct stat now{};
  if (::fstat(descriptor(), &now) != 0) return {};
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size == size_ && now.st_mtim.tv_sec == changed_s_ && now.st_mtim.tv_nsec == changed_ns_) return {};
  return {{Doubt::Kind::input, 1,
           path_ + ": the file was changed while it was read" +
               (size == size_ ? std::string()
                              : ": it had " + grouped(size_) + " bytes, and has " + grouped(size) + " now")}};
}

double PackedFile::progress(std::uint64_t consumed) const {
  if (size_ == 0) return 1;
  // A file that grows while it is read has more bytes than when it was opened.
  return std::clamp(static_cast<double>(position(consumed)) / static_cast<double>(size_), 0.0, 1.0);
}

}  // namespace canopy::workload
