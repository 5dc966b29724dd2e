#include "driver.h"

#include <dlfcn.h>

namespace canopy::cuda {

std::shared_ptr<const Driver> Driver::open(const char* library, std::string& why) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const words = dlerror();
    why = std::string("no CUDA driver here: ") + (words ? words : library);
    return nullptr;
  }
  const std::shared_ptr<Driver> driver(new Driver);
  const char* missing = nullptr;
#define CANOPY_X(name, symbol, ...)                                                \
  driver->name = reinterpret_cast<decltype(driver->name)>(dlsym(handle, #symbol)); \
  if (!driver->name && !missing) missing = #symbol;
  CANOPY_CUDA_REQUIRED(CANOPY_X)
#undef CANOPY_X
  if (missing) {
    why = std::string("the CUDA driver ") + library + " is too old: it has no " + missing;
    dlclose(handle);
    return nullptr;
  }
#define CANOPY_X(name, symbol, ...) driver->name = reinterpret_cast<decltype(driver->name)>(dlsym(handle, #symbol));
  CANOPY_CUDA_OPTIONAL(CANOPY_X)
#undef CANOPY_X
  why.clear();
  return driver;
}

std::string Driver::sentence(const char* call, Result result) const {
  const char* name = nullptr;
  const char* words = nullptr;
  const bool named = get_error_name(result, &name) == Result::success && name;
  const bool has_words = get_error_string(result, &words) == Result::success && words;
  if (!named)
    return std::string(call) + ": error " + std::to_string(static_cast<int>(result)) +
           ", which has no name in the driver";
  return std::string(call) + ": " + (has_words ? std::string(words) + " (" + name + ")" : std::string(name));
}

bool sticky(Result result) {
  switch (result) {
    case Result::deinitialized:
    case Result::ecc_uncorrectable:
    case Result::nvlink_uncorrectable:
    case Result::contained:
    case Result::illegal_address:
    case Result::launch_timeout:
    case Result::context_is_destroyed:
    case Result::device_assert:
    case Result::hardware_stack_error:
    case Result::illegal_instruction:
    case Result::misaligned_address:
    case Result::invalid_address_space:
    case Result::invalid_pc:
    case Result::launch_failed:
    case Result::tensor_memory_leak:
    case Result::mps_client_terminated:
    case Result::external_device:
      return true;
    default:
      return false;
  }
}

bool absent(Result result) {
  switch (result) {
    case Result::stub_library:
    case Result::call_requires_newer_driver:
    case Result::no_device:
    case Result::system_driver_mismatch:
    case Result::compat_not_supported_on_device:
      return true;
    default:
      return static_cast<int>(result) == 35;  // "insufficient driver": only the runtime API has a name for it
  }
}

}  // namespace canopy::cuda
