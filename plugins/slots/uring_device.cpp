#include <cstring>
#include <string>

#include "device.h"

#ifdef CANOPY_HAS_LIBURING
#include <canopy/helpers/at_fork.h>
#include <liburing.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#endif

namespace canopy::slots {

#ifdef CANOPY_HAS_LIBURING

namespace {

class UringDevice final : public Device {
 public:
  explicit UringDevice(std::uint32_t depth) : depth_(depth) { again_.reserve(depth); }
  ~UringDevice() override { close(); }
  UringDevice(const UringDevice&) = delete;
  UringDevice& operator=(const UringDevice&) = delete;

  /// Returns 0 or an errno.
  int open(int event) {
    // These flags avoid an interrupt of this thread for each completion. Kernels before 5.19 do not have them.
    int error = -::io_uring_queue_init(depth_, &ring_, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    if (error == EINVAL) error = -::io_uring_queue_init(depth_, &ring_, 0);
    if (error) return error;
    open_ = true;
    return -::io_uring_register_eventfd(&ring_, event);
  }

  bool begin(Transfer& transfer) override {
    if (on_the_way_ == depth_) return false;
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    if (!entry) return false;
    if (transfer.write) ::io_uring_prep_writev(entry, transfer.file, transfer.pieces, transfer.count, transfer.offset);
    else ::io_uring_prep_readv(entry, transfer.file, transfer.pieces, transfer.count, transfer.offset);
    ::io_uring_sqe_set_data(entry, &transfer);
    ++on_the_way_;
    return true;
  }
  void submit() override {
    if (::io_uring_sq_ready(&ring_) > 0) ::io_uring_submit(&ring_);
  }
  void collect(std::vector<Transfer*>& ended, bool wait) override {
    submit();  // calls that the kernel had no room for before
    // Without one in the kernel there is nothing to wait for.
    while (wait && on_the_way_ > 0 && ::io_uring_sq_ready(&ring_) == on_the_way_) ::usleep(1'000), submit();
    if (wait && on_the_way_ > 0) {
      io_uring_cqe* first = nullptr;
      while (::io_uring_wait_cqe(&ring_, &first) == -EINTR) {
      }
    }
    std::array<io_uring_cqe*, 64> entries;
    while (const unsigned count = ::io_uring_peek_batch_cqe(&ring_, entries.data(), entries.size())) {
      again_.clear();
      for (unsigned i = 0; i < count; ++i) end(entries[i], ended);
      ::io_uring_cq_advance(&ring_, count);
      for (Transfer* const transfer : again_) begin(*transfer);
      submit();
    }
  }

 private:
  /// Unmaps the ring and closes its descriptor. Neither waits nor changes the ring, so a forked child can do it.
  void close() {
    if (open_) ::io_uring_queue_exit(&ring_);
    open_ = false;
  }
  void end(const io_uring_cqe* entry, std::vector<Transfer*>& ended) {
    auto* const transfer = static_cast<Transfer*>(::io_uring_cqe_get_data(entry));
    --on_the_way_;
    const int result = entry->res;
    if (result == -EAGAIN || result == -EINTR ||
        (result > 0 && goes_on(*transfer, static_cast<std::uint64_t>(result)))) {
      again_.push_back(transfer);
      return;
    }
    transfer->result = result < 0 ? result : static_cast<std::int64_t>(transfer->moved);
    ended.push_back(transfer);
  }

  io_uring ring_{};
  bool open_ = false;
  std::uint32_t depth_, on_the_way_ = 0;
  std::vector<Transfer*> again_;
  AtFork own_{[](void* device) noexcept { static_cast<UringDevice*>(device)->close(); }, this};
};

}  // namespace

std::unique_ptr<Device> uring_device(int event, std::uint32_t depth, std::string& why_not) {
  auto device = std::make_unique<UringDevice>(depth);
  const int error = device->open(event);
  if (!error) return device;
  why_not = std::strerror(error);
  return nullptr;
}

#else

std::unique_ptr<Device> uring_device(int, std::uint32_t, std::string& why_not) {
  why_not = "this build has no liburing";
  return nullptr;
}

#endif

}  // namespace canopy::slots
