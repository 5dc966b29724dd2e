#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <cuda/driver.h>
#include <cuda/kernels_launch.h>

namespace canopy::cuda {

/// One GPU: its driver, its primary context (which frameworks use too), our kernels in it, and its first failure. Every
/// call of the driver goes through note(), so that every failure is reported; none ends the process.
class Gpu {
 public:
  /// Throws std::runtime_error, with one sentence, if there is no such device or it cannot load our kernels.
  explicit Gpu(std::uint32_t ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Whether there is such a device; `what` says which, or why not. Takes milliseconds where there is no driver.
  static bool find(std::uint32_t ordinal, std::string& what);

  const Driver& driver() const { return *driver_; }
  ContextHandle context() const { return context_; }
  std::uint32_t multiprocessors() const { return multiprocessors_; }
  int attribute(DeviceAttribute attribute) const;
  Device ordinal() const { return device_; }

  /// True for success. failure() reports the first failure, and for ever one after which the device is unusable.
  bool note(const char* call, Result result);
  /// The device is unusable for this process.
  bool broken() const { return broken_; }
  /// Null, or the first failure since the last call (if the device is broken: what broke it, at each call).
  const char* failure();
  /// Keeps a sentence of ours as the failure.
  void fail(std::string sentence);

  /// Waits for the work queued on `stream`, or, where the driver fails at that, for all work. False: it is not known
  /// whether the work is done. REQUIRES: the context is current.
  bool wait(StreamHandle stream);

  /// True for success. REQUIRES: the context is current; `job` is the kernel's parameter.
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

/// An event that only says "done". Where the driver fails, the host waits instead, so that the order of work is kept.
/// REQUIRES, for all functions: the context is current.
class Event {
 public:
  explicit Event(Gpu& gpu) : gpu_(gpu) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// False: neither an event nor waiting worked; then done() is false until wait() has worked.
  bool record(StreamHandle stream);
  /// Whether the work queued before the last record is done; true if there was no record, or the device is broken.
  bool done() const;
  /// False: it is not known whether the work is done.
  bool wait();
  /// Orders the work queued on `stream` from now on after the event.
  void before(StreamHandle stream);

 private:
  Gpu& gpu_;
  EventHandle event_ = nullptr;
  bool recorded_ = false, lost_ = false;
};

}  // namespace canopy::cuda
