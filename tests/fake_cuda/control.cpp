#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace canopy::fake_cuda {
namespace {

thread_local std::vector<ContextHandle> current;

/// The primary context; only its address counts.
ContextHandle primary() { return reinterpret_cast<ContextHandle>(std::uintptr_t{0xC0DE00}); }

/// Calls take(first, rest) for the pieces of "a:1,b:2:3".
template <class Take>
void each_setting(const char* variable, Take take) {
  const char* text = std::getenv(variable);
  while (text && *text) {
    const std::string piece(text, std::strcspn(text, ","));
    const std::size_t colon = piece.find(':');
    if (colon != std::string::npos) take(piece.substr(0, colon), piece.c_str() + colon + 1);
    text += piece.size();
    if (*text == ',') ++text;
  }
}

void read_environment(State& s) {
  if (const char* text = std::getenv("FAKE_CUDA_MEMORY")) s.memory = std::strtoull(text, nullptr, 10);
  if (const char* text = std::getenv("FAKE_CUDA_DEVICES")) s.devices = std::atoi(text);
  if (const char* text = std::getenv("FAKE_CUDA_EAGER")) s.eager = std::atoi(text) != 0;
  each_setting("FAKE_CUDA_ATTRIBUTES", [&](const std::string& number, const char* value) {
    s.attributes[std::atoi(number.c_str())] = std::atoi(value);
  });
  each_setting("FAKE_CUDA_FAIL", [&](const std::string& function, const char* rest) {
    char* end = nullptr;
    const std::uint64_t nth = std::strtoull(rest, &end, 10);
    const Result result = *end == ':' ? static_cast<Result>(std::atoi(end + 1)) : Result::out_of_memory;
    s.faults[function].push_back({nth, 1, result});
  });
}

void set_defaults(State& s) {
  s.memory = 4ULL << 30;
  s.devices = 1;
  s.not_ready = 2;
  s.eager = false;
  s.attributes = {
      {static_cast<int>(DeviceAttribute::max_threads_per_block), 1024},
      {static_cast<int>(DeviceAttribute::multiprocessor_count), 132},
      {static_cast<int>(DeviceAttribute::integrated), 0},
      {static_cast<int>(DeviceAttribute::can_map_host_memory), 1},
      {static_cast<int>(DeviceAttribute::l2_cache_size), 50 << 20},
      {static_cast<int>(DeviceAttribute::max_threads_per_multiprocessor), 2048},
      {static_cast<int>(DeviceAttribute::async_engine_count), 3},
      {static_cast<int>(DeviceAttribute::unified_addressing), 1},
      {static_cast<int>(DeviceAttribute::compute_capability_major), 9},
      {static_cast<int>(DeviceAttribute::compute_capability_minor), 0},
      {static_cast<int>(DeviceAttribute::max_shared_memory_per_multiprocessor), 228 << 10},
      {static_cast<int>(DeviceAttribute::pageable_memory_access), 0},
      {static_cast<int>(DeviceAttribute::can_use_host_pointer_for_registered_mem), 1},
      {static_cast<int>(DeviceAttribute::max_shared_memory_per_block_optin), 227 << 10},
      {static_cast<int>(DeviceAttribute::host_register_supported), 1},
      {static_cast<int>(DeviceAttribute::virtual_memory_management_supported), 1},
      {static_cast<int>(DeviceAttribute::handle_type_posix_file_descriptor_supported), 1},
      {static_cast<int>(DeviceAttribute::gpu_direct_rdma_with_cuda_vmm_supported), 1},
      {static_cast<int>(DeviceAttribute::dma_buf_supported), 0},
      {static_cast<int>(DeviceAttribute::handle_type_fabric_supported), 0},
  };
  s.faults.clear();
  read_environment(s);
}

/// Returns the result that a planted fault has for this call; success if there is none.
Result planted(State& s, const char* function) {
  const auto found = s.faults.find(function);
  if (found == s.faults.end()) return Result::success;
  Result result = Result::success;
  for (Fault& fault : found->second) {
    if (fault.nth > 1) {
      --fault.nth;
    } else if (fault.nth == 1) {
      if (fault.times == 1) fault.nth = 0;  // spent
      if (fault.times > 1) --fault.times;
      if (result == Result::success) result = fault.result;
    }
  }
  return result;
}

/// The results that a real context does not outlive; said here again, so that the fake does not follow the plugin.
bool ends_context(Result result) {
  const int value = static_cast<int>(result);
  return value == 214 || value == 220 || value == 226 || value == 700 || value == 702 || value == 710 ||
         (value >= 714 && value <= 719);
}

const char* driver_name(Result result) {
  switch (result) {
#define CANOPY_X(name, text, value) \
  case Result::name:                \
    return #text;
    CANOPY_CUDA_RESULTS(CANOPY_X)
#undef CANOPY_X
  }
  return nullptr;
}

const char* driver_words(Result result) {
  switch (result) {
    case Result::success:
      return "no error";
    case Result::invalid_value:
      return "invalid argument";
    case Result::illegal_address:
      return "an illegal memory access was encountered";
    case Result::no_device:
      return "no CUDA-capable device is detected";
    default:
      break;
  }
  static const std::map<Result, std::string> words = [] {
    std::map<Result, std::string> all;
#define CANOPY_X(name, text, value)                   \
  {                                                   \
    std::string& word = all[Result::name] = #name;    \
    std::replace(word.begin(), word.end(), '_', ' '); \
  }
    CANOPY_CUDA_RESULTS(CANOPY_X)
#undef CANOPY_X
    return all;
  }();
  const auto found = words.find(result);
  return found == words.end() ? nullptr : found->second.c_str();
}

}  // namespace

State& state() {
  static State* const the = [] {
    auto* const s = new State;  // never destroyed: others may call while the process ends
    set_defaults(*s);
    return s;
  }();
  return *the;
}

std::map<std::string, const Twin*>& twins() {
  static auto* const all = new std::map<std::string, const Twin*>;
  return *all;
}

Listed::Listed(const Twin& twin) { twins()[twin.name] = &twin; }

Entry enter(const char* function, unsigned needs) {
  State& s = state();
  std::unique_lock lock(s.mutex);
  ++s.calls[function];
  if (s.log.size() < 1'000'000) s.log.push_back(function);
  Result result = Result::success;
  if (needs & (kInit | kContext) && !s.initialized) result = Result::not_initialized;
  else if (needs & kContext && s.sticky != Result::success) result = s.sticky;
  else if (needs & kContext && current.empty()) result = Result::invalid_context;
  else if (needs & kContext && s.context_owners == 0) result = Result::context_is_destroyed;
  else if (const Result fault = planted(s, function); fault != Result::success) result = made_sticky(fault);
  else if (needs & kNotInCapture && capture_forbids()) result = Result::stream_capture_unsupported;
  return {std::move(lock), result};
}

Result made_sticky(Result result) {
  if (ends_context(result)) state().sticky = result;
  return result;
}

extern "C" {
#define FAKE_EXPORT __attribute__((visibility("default")))

FAKE_EXPORT void fake_cuda_reset() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  forget_memory();
  s.calls.clear();
  s.log.clear();
  s.pageable_copies = s.launches = 0;
  s.initialized = false;
  s.sticky = Result::success;
  s.context_owners = 0;
  // Work that never ran holds its events, and an event holds the queue of its last record.
  for (const auto& [handle, queue] : s.streams) queue->ops.clear();
  for (const auto& queue : s.orphans) queue->ops.clear();
  s.legacy->ops.clear();
  s.streams.clear();
  s.orphans.clear();
  s.legacy = std::make_shared<Queue>();
  s.events.clear();
  s.modules.clear();
  s.functions.clear();
  s.graphs.clear();
  s.execs.clear();
  s.captures.clear();
  current.clear();
  set_defaults(s);
}

FAKE_EXPORT void fake_cuda_memory(std::uint64_t bytes) {
  const std::lock_guard lock(state().mutex);
  state().memory = bytes;
}
FAKE_EXPORT void fake_cuda_devices(int count) {
  const std::lock_guard lock(state().mutex);
  state().devices = count;
}
FAKE_EXPORT void fake_cuda_attribute(int attribute, int value) {
  const std::lock_guard lock(state().mutex);
  state().attributes[attribute] = value;
}
FAKE_EXPORT void fake_cuda_not_ready(int answers) {
  const std::lock_guard lock(state().mutex);
  state().not_ready = answers;
}
FAKE_EXPORT void fake_cuda_eager(int on) {
  const std::lock_guard lock(state().mutex);
  state().eager = on != 0;
}
FAKE_EXPORT void fake_cuda_add_twin(const Twin* twin) {
  const std::lock_guard lock(state().mutex);
  twins()[twin->name] = twin;
}
FAKE_EXPORT void fake_cuda_fail(const char* function, std::uint64_t nth, int result, std::uint64_t times) {
  const std::lock_guard lock(state().mutex);
  state().faults[function].push_back({nth, times, static_cast<Result>(result)});
}
FAKE_EXPORT std::uint64_t fake_cuda_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().calls.find(function);
  return found == state().calls.end() ? 0 : found->second;
}
FAKE_EXPORT std::size_t fake_cuda_log(const char** names, std::size_t capacity) {
  const std::lock_guard lock(state().mutex);
  const std::vector<const char*>& log = state().log;
  std::copy_n(log.begin(), std::min(capacity, log.size()), names);
  return log.size();
}
FAKE_EXPORT void fake_cuda_live(FakeCudaLive* out) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto ours = static_cast<std::size_t>(
      std::count_if(s.host.begin(), s.host.end(), [](const auto& h) { return h.second.ours; }));
  std::size_t queued = s.legacy->ops.size();
  for (const auto& [handle, queue] : s.streams) queued += queue->ops.size();
  for (const auto& queue : s.orphans) queued += queue->ops.size();
  *out = {s.reservations.size(),
          s.handles.size(),
          s.mappings.size(),
          s.allocations.size(),
          ours,
          s.host.size() - ours,
          s.streams.size(),
          s.events.size(),
          s.modules.size(),
          s.graphs.size(),
          s.execs.size(),
          s.context_owners,
          s.taken,
          queued,
          s.pageable_copies,
          s.launches};
}
}  // extern "C"
}  // namespace canopy::fake_cuda

namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" {

Result cuInit(unsigned flags) {
  FAKE_ENTER(kNothing);
  if (flags != 0) return Result::invalid_value;
  if (state().devices == 0) return Result::no_device;
  state().initialized = true;
  return Result::success;
}

Result cuDriverGetVersion(int* version) {
  FAKE_ENTER(kNothing);
  if (!version) return Result::invalid_value;
  *version = 13000;
  return Result::success;
}

Result cuGetErrorName(Result result, const char** name) {
  *name = driver_name(result);
  return *name ? Result::success : Result::invalid_value;
}

Result cuGetErrorString(Result result, const char** words) {
  *words = driver_words(result);
  return *words ? Result::success : Result::invalid_value;
}

Result cuDeviceGetCount(int* count) {
  FAKE_ENTER(kInit);
  if (!count) return Result::invalid_value;
  *count = state().devices;
  return Result::success;
}

Result cuDeviceGet(Device* device, int ordinal) {
  FAKE_ENTER(kInit);
  if (!device) return Result::invalid_value;
  if (ordinal != 0) return Result::invalid_device;
  *device = 0;
  return Result::success;
}

Result cuDeviceGetName(char* name, int length, Device device) {
  FAKE_ENTER(kInit);
  if (device != 0) return Result::invalid_device;
  if (!name || length < 1) return Result::invalid_value;
  const std::string ours = std::string("Fake device").substr(0, static_cast<std::size_t>(length) - 1);
  std::memcpy(name, ours.c_str(), ours.size() + 1);
  return Result::success;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  FAKE_ENTER(kInit);
  if (device != 0) return Result::invalid_device;
  const auto found = state().attributes.find(static_cast<int>(attribute));
  if (!value || found == state().attributes.end()) return Result::invalid_value;
  *value = found->second;
  return Result::success;
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, Device device) {
  FAKE_ENTER(kInit);
  if (device != 0) return Result::invalid_device;
  if (!context) return Result::invalid_value;
  ++state().context_owners;
  *context = primary();
  return Result::success;
}

Result cuDevicePrimaryCtxRelease_v2(Device device) {
  FAKE_ENTER(kInit);
  if (device != 0) return Result::invalid_device;
  if (state().context_owners == 0) return Result::invalid_context;
  --state().context_owners;
  return Result::success;
}

Result cuCtxPushCurrent_v2(ContextHandle context) {
  FAKE_ENTER(kInit);
  if (context != primary() || state().context_owners == 0) return Result::invalid_context;
  current.push_back(context);
  return Result::success;
}

Result cuCtxPopCurrent_v2(ContextHandle* context) {
  FAKE_ENTER(kInit);
  if (current.empty()) return Result::invalid_context;
  if (context) *context = current.back();
  current.pop_back();
  return Result::success;
}

}  // extern "C"
}  // namespace canopy::cuda
