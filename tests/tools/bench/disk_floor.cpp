#include "disk_floor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#ifdef CANOPY_HAS_LIBURING
#include <liburing.h>
#endif

namespace canopy::bench {
namespace {

class MemoryFloor final : public RecordFloor {
 public:
  MemoryFloor(std::uint64_t record_bytes, std::uint64_t records)
      : record_bytes_(record_bytes), memory_(record_bytes * records) {}
  bool put(std::uint64_t first, std::span<std::byte* const> records) override {
    for (std::byte* const record : records) std::memcpy(place(first++), record, record_bytes_);
    return true;
  }
  bool get(std::uint64_t first, std::span<std::byte* const> records) override {
    for (std::byte* const record : records) std::memcpy(record, place(first++), record_bytes_);
    return true;
  }

 private:
  std::byte* place(std::uint64_t number) { return memory_.data() + number * record_bytes_; }

  std::uint64_t record_bytes_;
  std::vector<std::byte> memory_;
};

UniqueFd sized_file(const std::string& path, int flags, std::uint64_t bytes) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600));
  if (file && ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) != 0) file.reset();
  return file;
}

class PageCacheFloor final : public RecordFloor {
 public:
  PageCacheFloor(UniqueFd file, std::uint64_t record_bytes) : file_(std::move(file)), record_bytes_(record_bytes) {}
  bool put(std::uint64_t first, std::span<std::byte* const> records) override {
    return std::ranges::all_of(records, [&](std::byte* record) {
      return ::pwrite(file_.get(), record, record_bytes_, offset(first++)) == static_cast<ssize_t>(record_bytes_);
    });
  }
  bool get(std::uint64_t first, std::span<std::byte* const> records) override {
    return std::ranges::all_of(records, [&](std::byte* record) {
      return ::pread(file_.get(), record, record_bytes_, offset(first++)) == static_cast<ssize_t>(record_bytes_);
    });
  }

 private:
  off_t offset(std::uint64_t place) const { return static_cast<off_t>(place * record_bytes_); }

  UniqueFd file_;
  std::uint64_t record_bytes_;
};

#ifdef CANOPY_HAS_LIBURING
class UringFloor final : public RecordFloor {
 public:
  UringFloor(UniqueFd file, std::uint64_t record_bytes) : file_(std::move(file)), record_bytes_(record_bytes) {
    open_ = ::io_uring_queue_init(kDepth, &ring_, IORING_SETUP_COOP_TASKRUN) == 0 ||
            ::io_uring_queue_init(kDepth, &ring_, 0) == 0;
  }
  ~UringFloor() override {
    if (open_) ::io_uring_queue_exit(&ring_);
  }
  UringFloor(const UringFloor&) = delete;
  UringFloor& operator=(const UringFloor&) = delete;

  bool is_open() const { return open_; }
  bool put(std::uint64_t first, std::span<std::byte* const> records) override { return move(true, first, records); }
  bool get(std::uint64_t first, std::span<std::byte* const> records) override { return move(false, first, records); }

 private:
  static constexpr unsigned kDepth = 32;

  bool move(bool write, std::uint64_t first, std::span<std::byte* const> records) {
    const std::uint64_t piece = std::min<std::uint64_t>(record_bytes_, 1 << 20);
    const std::uint64_t each = (record_bytes_ + piece - 1) / piece, all = each * records.size();
    std::uint64_t sent = 0, done = 0;
    bool right = true;
    while (done < all) {
      for (; sent < all && sent - done < kDepth; ++sent) {
        io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
        if (!entry) break;
        const std::uint64_t record = sent / each, at = sent % each * piece;
        const auto count = static_cast<unsigned>(std::min(piece, record_bytes_ - at));
        const std::uint64_t offset = (first + record) * record_bytes_ + at;
        if (write) ::io_uring_prep_write(entry, file_.get(), records[record] + at, count, offset);
        else ::io_uring_prep_read(entry, file_.get(), records[record] + at, count, offset);
        ::io_uring_sqe_set_data64(entry, count);
      }
      if (::io_uring_submit_and_wait(&ring_, 1) < 0) return false;
      io_uring_cqe* entry = nullptr;
      unsigned head = 0, count = 0;
      io_uring_for_each_cqe(&ring_, head, entry) {
        right &= entry->res >= 0 && static_cast<std::uint64_t>(entry->res) == entry->user_data;
        ++count;
      }
      ::io_uring_cq_advance(&ring_, count);
      done += count;
    }
    return right;
  }

  UniqueFd file_;
  std::uint64_t record_bytes_;
  io_uring ring_{};
  bool open_ = false;
};
#endif

}  // namespace

std::unique_ptr<RecordFloor> memory_floor(std::uint64_t record_bytes, std::uint64_t records) {
  return std::make_unique<MemoryFloor>(record_bytes, records);
}

std::unique_ptr<RecordFloor> page_cache_floor(const std::string& file, std::uint64_t record_bytes,
                                              std::uint64_t records) {
  UniqueFd opened = sized_file(file, 0, record_bytes * records);
  if (!opened) return nullptr;
  return std::make_unique<PageCacheFloor>(std::move(opened), record_bytes);
}

std::unique_ptr<RecordFloor> uring_floor([[maybe_unused]] const std::string& file,
                                         [[maybe_unused]] std::uint64_t record_bytes,
                                         [[maybe_unused]] std::uint64_t records) {
#ifdef CANOPY_HAS_LIBURING
  UniqueFd opened = sized_file(file, O_DIRECT, record_bytes * records);
  if (!opened) return nullptr;
  auto floor = std::make_unique<UringFloor>(std::move(opened), record_bytes);
  if (floor->is_open()) return floor;
#endif
  return nullptr;
}

}  // namespace canopy::bench
