#include "gpu.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "kernels_image.h"

namespace canopy::cuda {
namespace {

/// Returns the driver's library. The variable is for a driver outside the loader's folders, as in WSL, and for tests.
const char* library() {
  const char* chosen = std::getenv("CANOPY_CUDA_DRIVER");
  return chosen && *chosen ? chosen : Driver::kLibrary;
}

/// Returns the initialised driver and sets `device` to the device of this number, or returns null and sets `why`.
std::shared_ptr<const Driver> driver_with(std::uint32_t ordinal, Device& device, std::string& why) {
  auto driver = Driver::open(library(), why);
  if (!driver) return nullptr;
  int count = 0;
  if (const Result result = driver->init(0); result != Result::success) {
    why = absent(result) ? "no CUDA device (" + driver->sentence("cuInit", result) + ")"
                         : driver->sentence("cuInit", result);
    return nullptr;
  }
  if (const Result result = driver->device_get_count(&count); result != Result::success) {
    why = driver->sentence("cuDeviceGetCount", result);
    return nullptr;
  }
  if (ordinal >= static_cast<std::uint32_t>(count)) {
    why = count == 0 ? "no CUDA device"
                     : "no CUDA device " + std::to_string(ordinal) + ": there are " + std::to_string(count);
    return nullptr;
  }
  if (const Result result = driver->device_get(&device, static_cast<int>(ordinal)); result != Result::success) {
    why = driver->sentence("cuDeviceGet", result);
    return nullptr;
  }
  return driver;
}

int attribute_of(const Driver& driver, DeviceAttribute attribute, Device device) {
  int value = 0;
  return driver.device_get_attribute(&value, attribute, device) == Result::success ? value : 0;
}

constexpr std::uint32_t kWidths[] = {16, 4, 1};

}  // namespace

bool Gpu::find(std::uint32_t ordinal, std::string& what) {
  Device device = 0;
  const auto driver = driver_with(ordinal, device, what);
  if (!driver) return false;
  char name[128] = "a CUDA device";
  static_cast<void>(driver->device_get_name(name, sizeof(name), device));
  what = std::string(name) + ", compute capability " +
         std::to_string(attribute_of(*driver, DeviceAttribute::compute_capability_major, device)) + "." +
         std::to_string(attribute_of(*driver, DeviceAttribute::compute_capability_minor, device)) +
         (attribute_of(*driver, DeviceAttribute::virtual_memory_management_supported, device)
              ? "; pools grow and shrink"
              : "; pools have a fixed size: no virtual memory management");
  return true;
}

Gpu::Gpu(std::uint32_t ordinal) {
  std::string why;
  driver_ = driver_with(ordinal, device_, why);
  if (!driver_) throw std::runtime_error(why);
  if (const Result result = driver_->device_primary_ctx_retain(&context_, device_); result != Result::success)
    throw std::runtime_error(driver_->sentence("cuDevicePrimaryCtxRetain", result));
  multiprocessors_ = static_cast<std::uint32_t>(std::max(attribute(DeviceAttribute::multiprocessor_count), 1));
  const ContextScope scope(*driver_, context_);
  Result result = driver_->module_load_data(&module_, kernels_image());
  const char* call = "cuModuleLoadData";
  for (std::uint32_t kernel = 0; kernel < std::size(functions_); ++kernel)
    for (std::uint32_t width = 0; width < std::size(kWidths) && result == Result::success; ++width) {
      call = "cuModuleGetFunction";
      result = driver_->module_get_function(&functions_[kernel][width], module_,
                                            kernel_name(static_cast<Kernel>(kernel), kWidths[width]));
    }
  if (result == Result::success) return;
  why = driver_->sentence(call, result);
  if (kernels_image_size() == 0) why += ": this build has no kernels, because nvcc was missing when it was built";
  if (module_) static_cast<void>(driver_->module_unload(module_));
  static_cast<void>(driver_->device_primary_ctx_release(device_));
  throw std::runtime_error(why);
}

Gpu::~Gpu() {
  {
    const ContextScope scope(*driver_, context_);
    static_cast<void>(driver_->module_unload(module_));  // a broken context has already lost it
  }
  static_cast<void>(driver_->device_primary_ctx_release(device_));
}

int Gpu::attribute(DeviceAttribute attribute) const { return attribute_of(*driver_, attribute, device_); }

bool Gpu::note(const char* call, Result result) {
  if (result == Result::success) return true;
  if (sticky(result) && !broken_) {
    broken_ = true;
    failure_ =
        driver_->sentence(call, result) +
        ". The device's memory is lost to this process, and its contents must be computed again in a new process";
  } else {
    fail(driver_->sentence(call, result));
  }
  return false;
}

void Gpu::fail(std::string sentence) {
  if (failure_.empty()) failure_ = std::move(sentence);
}

const char* Gpu::failure() {
  if (failure_.empty()) return nullptr;
  reported_ = failure_;
  if (!broken_) failure_.clear();
  return reported_.c_str();
}

bool Gpu::wait(StreamHandle stream) {
  if (broken_) return false;
  if (note("cuStreamSynchronize", driver_->stream_synchronize(stream))) return true;
  return !broken_ && note("cuCtxSynchronize", driver_->ctx_synchronize());
}

bool Gpu::launch(Kernel kernel, std::uint32_t width, Grid grid, const void* job, StreamHandle stream) {
  if (broken_) return false;
  if (grid.x == 0) return true;
  const FunctionHandle function = functions_[static_cast<std::uint32_t>(kernel)][width == 16 ? 0 : width == 4 ? 1 : 2];
  void* parameters[] = {const_cast<void*>(job)};  // read before the call returns
  return note(kernel_name(kernel, width),
              driver_->launch_kernel(function, grid.x, grid.y, 1, kThreads, 1, 1, 0, stream, parameters, nullptr));
}

Event::~Event() {
  if (event_) static_cast<void>(gpu_.driver().event_destroy(event_));
}
bool Event::record(StreamHandle stream) {
  if (!event_) gpu_.note("cuEventCreate", gpu_.driver().event_create(&event_, kEventDisableTiming));
  recorded_ = event_ && gpu_.note("cuEventRecord", gpu_.driver().event_record(event_, stream));
  lost_ = !recorded_ && !gpu_.wait(stream);
  return !lost_;
}
bool Event::done() const {
  if (gpu_.broken()) return true;
  if (!recorded_) return !lost_;
  const Result result = gpu_.driver().event_query(event_);
  return result != Result::not_ready && gpu_.note("cuEventQuery", result);
}
bool Event::wait() {
  if (gpu_.broken()) return false;
  if (recorded_) lost_ = !gpu_.note("cuEventSynchronize", gpu_.driver().event_synchronize(event_));
  if (!lost_) return true;
  recorded_ = false;
  lost_ = gpu_.broken() || !gpu_.note("cuCtxSynchronize", gpu_.driver().ctx_synchronize());
  return !lost_;
}
void Event::before(StreamHandle stream) {
  if (gpu_.broken() || (!recorded_ && !lost_)) return;
  if (lost_ || !gpu_.note("cuStreamWaitEvent", gpu_.driver().stream_wait_event(stream, event_, 0))) wait();
}

}  // namespace canopy::cuda
