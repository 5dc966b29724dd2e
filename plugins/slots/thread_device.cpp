#include <sys/eventfd.h>
#include <sys/uio.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "device.h"
#include "start_threads.h"

namespace canopy::slots {

namespace {

class ThreadDevice final : public Device {
 public:
  ThreadDevice(int event, std::uint32_t depth, std::uint32_t threads) : event_(event), depth_(depth) {
    // A transfer that begins needs no memory: it could not be taken back.
    for (auto* const list : {&begun_, &waiting_, &ended_}) list->reserve(depth);
    start_threads(threads_, threads, [this] { work(); });
  }
  ~ThreadDevice() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    work_is_here_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadDevice(const ThreadDevice&) = delete;
  ThreadDevice& operator=(const ThreadDevice&) = delete;

  bool begin(Transfer& transfer) override {
    if (on_the_way_ == depth_) return false;
    ++on_the_way_;
    begun_.push_back(&transfer);
    return true;
  }
  void submit() override {
    if (begun_.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      waiting_.insert(waiting_.end(), begun_.begin(), begun_.end());
    }
    if (begun_.size() == 1) work_is_here_.notify_one();
    else work_is_here_.notify_all();
    begun_.clear();
  }
  void collect(std::vector<Transfer*>& ended, bool wait) override {
    submit();
    std::unique_lock lock(mutex_);
    if (wait && on_the_way_ > 0) one_has_ended_.wait(lock, [&] { return !ended_.empty(); });
    ended.insert(ended.end(), ended_.begin(), ended_.end());
    on_the_way_ -= static_cast<std::uint32_t>(ended_.size());
    ended_.clear();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_is_here_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Transfer* const transfer = waiting_.front();
      waiting_.erase(waiting_.begin());
      lock.unlock();
      move(*transfer);
      lock.lock();
      ended_.push_back(transfer);
      ::eventfd_write(event_, 1);
      one_has_ended_.notify_one();
    }
  }
  static void move(Transfer& transfer) {
    for (;;) {
      const auto count = static_cast<int>(transfer.count);
      const auto offset = static_cast<off_t>(transfer.offset);
      const ssize_t now = transfer.write ? ::pwritev(transfer.file, transfer.pieces, count, offset)
                                         : ::preadv(transfer.file, transfer.pieces, count, offset);
      if (now < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      transfer.result = now < 0 ? -errno : static_cast<std::int64_t>(transfer.moved);
      if (now <= 0) return;
      const bool more = goes_on(transfer, static_cast<std::uint64_t>(now));
      transfer.result = static_cast<std::int64_t>(transfer.moved);
      if (!more) return;
    }
  }

  int event_;
  std::uint32_t depth_, on_the_way_ = 0;
  std::vector<Transfer*> begun_;

  std::mutex mutex_;
  std::condition_variable work_is_here_, one_has_ended_;
  std::vector<Transfer*> waiting_, ended_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Device> thread_device(int event, std::uint32_t depth, std::uint32_t threads) {
  return std::make_unique<ThreadDevice>(event, depth, threads);
}

}  // namespace canopy::slots
