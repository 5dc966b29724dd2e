#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <cuda/driver.h>
#include <cuda/kernels_launch.h>

namespace canopy::cuda {

/// One GPU: its driver, its primary context (the one that frameworks use too), our kernels in it, and the first thing
/// that went wrong. Every call of the driver goes through note(), so that nothing fails unheard; nothing aborts.
class Gpu {
 public:
  /// Throws std::runtime_error, with one sentence, if there is no such device or it does not take our kernels.
  explicit Gpu(std::uint32_t ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Whether there is a device at all; `what` says which, or why not. Milliseconds where there is no driver.
  static bool find(std::uint32_t ordinal, std::string& what);

  const Driver& driver() const { return *driver_; }
  ContextHandle context() const { return context_; }
  std::uint32_t multiprocessors() const { return multiprocessors_; }
  int attribute(DeviceAttribute attribute) const;
  Device ordinal() const { return device_; }

  /// True for success. The first failure is kept for failure(); one that leaves the device unusable for ever.
  bool note(const char* call, Result result);
  /// Nothing more can be done with the device.
  bool broken() const { return broken_; }
  /// Null, or what failed first since this was last asked (or ever, if the device is broken).
  const char* failure();
  /// Keeps a sentence of ours as the failure.
  void fail(std::string sentence);

  /// Waits for what is queued on `stream`; for everything, where the driver fails at that. False: nobody knows whether
  /// it is done. REQUIRES: the context is current.
  bool wait(StreamHandle stream);

  /// True for success. REQUIRES: the context is current; `job` is what the kernel takes.
  bool launch(Kernel kernel, std::uint32_t width, Grid grid, const void* job, StreamHandle stream);

 private:
  std::shared_ptr<const Driver> driver_;
  Device device_ = 0;
  ContextHandle context_ = nullptr;
  ModuleHandle module_ = nullptr;
  FunctionHandle functions_[5][3] = {};  ///< by kernel, and width 16, 4, 1
  std::uint32_t multiprocessors_ = 0;
  std::string failure_, told_;
  bool broken_ = false;
};

/// An event that only says "done". Where the driver fails at one the host waits instead: order is never lost because an
/// event was. REQUIRES, for all of it: the context is current.
class Event {
 public:
  explicit Event(Gpu& gpu) : gpu_(gpu) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// False: neither an event nor waiting worked; then done() is false until wait() has worked.
  bool record(StreamHandle stream);
  /// Whether all that was queued before the last record is done; true if there was none, or the device is broken.
  bool done() const;
  /// False: nobody knows whether it is done.
  bool wait();
  /// What is queued on `stream` from now on comes after.
  void before(StreamHandle stream);

 private:
  Gpu& gpu_;
  EventHandle event_ = nullptr;
  bool recorded_ = false, lost_ = false;
};

}  // namespace canopy::cuda
