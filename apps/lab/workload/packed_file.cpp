#include "packed_file.h"

#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
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

/// zlib reads an uncompressed file unchanged.
class GzipFile final : public PackedFile {
 public:
  GzipFile(std::string path, const struct stat& facts, gzFile file, int descriptor)
      : PackedFile(std::move(path), facts), file_(file), descriptor_(descriptor) {}
  ~GzipFile() override { ::gzclose(file_); }

  Result<std::size_t> read(std::span<char> to) override {
    const int got = ::gzread(file_, to.data(), static_cast<unsigned>(std::min(to.size(), kPiece)));
    int state = Z_OK;
    const char* why = ::gzerror(file_, &state);
    if (got >= 0 && state == Z_OK) return static_cast<std::size_t>(got);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state == Z_BUF_ERROR) return Error{"the gzip data ends too early; was the file cut off?"};
    if (state == Z_ERRNO) return Error{"the file cannot be read beyond this place"};
    return Error{std::string("the gzip data is damaged: ") + (why != nullptr ? why : "no reason is given")};
  }

 private:
  std::uint64_t position(std::uint64_t consumed) const override {
    return ::gzdirect(file_) == 1 ? consumed : static_cast<std::uint64_t>(::gzoffset(file_));
  }

  int descriptor() const override { return descriptor_; }

  gzFile file_;
  int descriptor_;  ///< belongs to file_
};

#ifdef CANOPY_HAS_ZSTD
class ZstdFile final : public PackedFile {
 public:
  ZstdFile(std::string path, const struct stat& facts, UniqueFd file)
      : PackedFile(std::move(path), facts), file_(std::move(file)), stream_(ZSTD_createDCtx()), packed_(kPiece) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdFile() override { ZSTD_freeDCtx(stream_); }

  Result<std::size_t> read(std::span<char> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0 && !to.empty()) {
      if (in_.pos == in_.size && !ended_)
        if (auto more = fill(); !more) return more.error();
      if (in_.pos == in_.size && ended_ && wanted_ == 0) break;  // at the end of a frame
      const std::size_t before = in_.pos;
      wanted_ = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(wanted_)) return Error{std::string("the zstd data is damaged: ") + ZSTD_getErrorName(wanted_)};
      if (ended_ && out.pos == 0 && in_.pos == before && wanted_ != 0)
        return Error{"the zstd data ends too early; was the file cut off?"};
    }
    return out.pos;
  }

 private:
  Result<std::monostate> fill() {
    ssize_t got = 0;
    do got = ::read(file_.get(), packed_.data(), packed_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return Error{"the file cannot be read beyond this place"};
    ended_ = got == 0;
    in_ = {packed_.data(), static_cast<std::size_t>(got), 0};
    taken_ += in_.size;
    return std::monostate{};
  }
  std::uint64_t position(std::uint64_t) const override { return taken_ - (in_.size - in_.pos); }
  int descriptor() const override { return file_.get(); }

  UniqueFd file_;
  ZSTD_DCtx* stream_;
  std::vector<char> packed_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t wanted_ = 0;  ///< 0 between frames
  std::uint64_t taken_ = 0;
  bool ended_ = false;
};
#endif

/// Returns true if the file begins as a zstd frame does. Leaves its position at the beginning.
bool is_zstd(int file) {
  constexpr char kMagic[] = {'\x28', '\xb5', '\x2f', '\xfd'};
  char first[sizeof kMagic] = {};
  return ::pread(file, first, sizeof first, 0) == sizeof first && std::memcmp(first, kMagic, sizeof first) == 0;
}

}  // namespace

Result<std::unique_ptr<PackedFile>> PackedFile::open(const std::string& path) {
  OpenedFile there = open_regular(path);
  if (there.error != 0) return cannot_open(path, there.error);
  if (!there.descriptor) return Error{path + ": is " + kind_of(there.facts.st_mode) + "; expected a regular file"};
  if (is_zstd(there.descriptor.get())) {
#ifdef CANOPY_HAS_ZSTD
    return std::unique_ptr<PackedFile>(std::make_unique<ZstdFile>(path, there.facts, std::move(there.descriptor)));
#else
    return Error{path +
                 ": is compressed by zstd, and this Canopy was built without libzstd; decompress it first, by "
                 "`zstd -d`, or build with libzstd-dev"};
#endif
  }
  const int own = ::fcntl(there.descriptor.get(), F_DUPFD_CLOEXEC, 0);
  if (own < 0) return cannot_open(path, errno);
  const gzFile file = ::gzdopen(own, "rb");
  if (file == nullptr) {
    ::close(own);
    throw std::bad_alloc();
  }
  ::gzbuffer(file, kPiece);
  return std::unique_ptr<PackedFile>(std::make_unique<GzipFile>(path, there.facts, file, own));
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
