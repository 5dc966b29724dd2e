#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "driver.h"
#include "kernels_launch.h"

namespace canopy::cuda {

/// One GPU: its driver, its primary context (which frameworks use too), Canopy's kernels in it, and its first failure.
/// The result of every driver call goes through note(), so that every failure is reported; none ends the process.
class Gpu {
 public:
  /// Throws std::runtime_error if there is no such device or it cannot load the kernels.
  explicit Gpu(std::uint32_t ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Returns true if the device exists. `what` receives its description, or the reason why not. Takes milliseconds
  /// where there is no driver.
  static bool find(std::uint32_t ordinal, std::string& what);

  const Driver& driver() const { return *driver_; }
  ContextHandle context() const { return context_; }
  std::uint32_t multiprocessors() const { return multiprocessors_; }
  int attribute(DeviceAttribute attribute) const;
  Device ordinal() const { return device_; }

  /// Records the result of a call and returns true for success. failure() reports the first failure, and permanently
  /// one that made the device unusable.
  bool note(const char* call, Result result);
  /// Returns true if the device is unusable for this process.
  bool broken() const { return broken_; }
  /// Returns true if failure() would return one.
  bool has_failed() const { return !failure_.empty(); }
  /// Returns the first failure since the last call, or null if there is none. For a broken device, every call returns
  /// the failure that broke it.
  const char* failure();
  /// Records Canopy's own error message as the failure.
  void fail(std::string sentence);

  /// Waits for the work queued on `stream`, or for all work if the driver fails to wait for the stream. Returns false
  /// if it is unknown whether the work is done. REQUIRES: the context is current.
  bool wait(StreamHandle stream);

  /// Launches a kernel. Returns true for success. REQUIRES: the context is current; `job` is the kernel's parameter.
  bool launch(Kernel kernel, std::uint32_t width, Grid grid, const void* job, StreamHandle stream);

 private:
  std::shared_ptr<const Driver> driver_;
  Device device_ = 0;
  ContextHandle context_ = nullptr;
  ModuleHandle module_ = nullptr;
  FunctionHandle functions_[5][3] = {};  ///< by kernel, and by width 16, 4, 1
  std::uint32_t multiprocessors_ = 0;
  std::string failure_, reported_;
  bool broken_ = false;
};

/// An event that reports only completion. If the driver fails, the host waits instead, so that the order of work is
/// kept. REQUIRES, for all functions: the context is current.
class Event {
 public:
  explicit Event(Gpu& gpu) : gpu_(gpu) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Records the event. Returns false if neither an event nor waiting worked; done() is then false until wait() has
  /// worked.
  bool record(StreamHandle stream);
  /// Returns true if the work queued before the last record is done, there was no record, or the device is broken.
  bool done() const;
  /// Waits for the work. Returns false if it is unknown whether the work is done.
  bool wait();
  /// Orders the work queued later on `stream` after the event.
  void before(StreamHandle stream);

 private:
  Gpu& gpu_;
  EventHandle event_ = nullptr;
  bool recorded_ = false, lost_ = false;
};

}  // namespace canopy::cuda
