#pragma once

#include <cstddef>
#include <cstdint>

/// The part of the CUDA driver's C interface that Canopy uses, declared here so that no header or library of the CUDA
/// toolkit is needed to build. tests/fake_cuda/driver_abi_check.cpp compares every size, offset, value and signature
/// with the toolkit's header where one is installed.
namespace canopy::cuda {

/// The results of the driver's functions: Canopy's name, the driver's name, the value. A driver may also return values
/// that are not listed.
#define CANOPY_CUDA_RESULTS(X)                                                      \
  X(success, CUDA_SUCCESS, 0)                                                       \
  X(invalid_value, CUDA_ERROR_INVALID_VALUE, 1)                                     \
  X(out_of_memory, CUDA_ERROR_OUT_OF_MEMORY, 2)                                     \
  X(not_initialized, CUDA_ERROR_NOT_INITIALIZED, 3)                                 \
  X(deinitialized, CUDA_ERROR_DEINITIALIZED, 4)                                     \
  X(stub_library, CUDA_ERROR_STUB_LIBRARY, 34)                                      \
  X(call_requires_newer_driver, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36)          \
  X(device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                          \
  X(no_device, CUDA_ERROR_NO_DEVICE, 100)                                           \
  X(invalid_device, CUDA_ERROR_INVALID_DEVICE, 101)                                 \
  X(invalid_image, CUDA_ERROR_INVALID_IMAGE, 200)                                   \
  X(invalid_context, CUDA_ERROR_INVALID_CONTEXT, 201)                               \
  X(map_failed, CUDA_ERROR_MAP_FAILED, 205)                                         \
  X(unmap_failed, CUDA_ERROR_UNMAP_FAILED, 206)                                     \
  X(no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                           \
  X(ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE, 214)                           \
  X(nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                     \
  X(contained, CUDA_ERROR_CONTAINED, 226)                                           \
  X(operating_system, CUDA_ERROR_OPERATING_SYSTEM, 304)                             \
  X(invalid_handle, CUDA_ERROR_INVALID_HANDLE, 400)                                 \
  X(not_found, CUDA_ERROR_NOT_FOUND, 500)                                           \
  X(not_ready, CUDA_ERROR_NOT_READY, 600)                                           \
  X(illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                               \
  X(launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)               \
  X(launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                 \
  X(context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                     \
  X(device_assert, CUDA_ERROR_ASSERT, 710)                                          \
  X(host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
  X(host_memory_not_registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713)         \
  X(hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                     \
  X(illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                       \
  X(misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS, 716)                         \
  X(invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                   \
  X(invalid_pc, CUDA_ERROR_INVALID_PC, 718)                                         \
  X(launch_failed, CUDA_ERROR_LAUNCH_FAILED, 719)                                   \
  X(tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK, 721)                         \
  X(not_permitted, CUDA_ERROR_NOT_PERMITTED, 800)                                   \
  X(not_supported, CUDA_ERROR_NOT_SUPPORTED, 801)                                   \
  X(system_not_ready, CUDA_ERROR_SYSTEM_NOT_READY, 802)                             \
  X(system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                 \
  X(compat_not_supported_on_device, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804) \
  X(mps_client_terminated, CUDA_ERROR_MPS_CLIENT_TERMINATED, 810)                   \
  X(stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)         \
  X(stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)         \
  X(stream_capture_merge, CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)                     \
  X(stream_capture_unmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)             \
  X(stream_capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)               \
  X(stream_capture_isolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)             \
  X(stream_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)               \
  X(captured_event, CUDA_ERROR_CAPTURED_EVENT, 907)                                 \
  X(stream_capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)       \
  X(external_device, CUDA_ERROR_EXTERNAL_DEVICE, 911)                               \
  X(unknown, CUDA_ERROR_UNKNOWN, 999)

enum class [[nodiscard]] Result : int {
#define CANOPY_X(name, driver_name, value) name = (value),
  CANOPY_CUDA_RESULTS(CANOPY_X)
#undef CANOPY_X
};

using Device = int;               ///< an ordinal
using DevicePtr = std::uint64_t;  ///< address in the device's space
using MemHandle = std::uint64_t;  ///< physical memory from cuMemCreate

using ContextHandle = struct ContextObject*;
using StreamHandle = struct StreamObject*;
using EventHandle = struct EventObject*;
using ModuleHandle = struct ModuleObject*;
using FunctionHandle = struct FunctionObject*;
using GraphHandle = struct GraphObject*;
using GraphExecHandle = struct GraphExecObject*;
using ArrayHandle = struct ArrayObject*;

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  multiprocessor_count = 16,
  integrated = 18,
  can_map_host_memory = 19,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  async_engine_count = 40,
  unified_addressing = 41,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  pageable_memory_access = 88,
  can_use_host_pointer_for_registered_mem = 91,
  max_shared_memory_per_block_optin = 97,
  host_register_supported = 99,
  virtual_memory_management_supported = 102,
  handle_type_posix_file_descriptor_supported = 103,
  gpu_direct_rdma_with_cuda_vmm_supported = 110,
  dma_buf_supported = 124,
  handle_type_fabric_supported = 128,
};

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  local_size_bytes = 3,
  num_regs = 4,
  ptx_version = 5,
  binary_version = 6,
  max_dynamic_shared_size_bytes = 8,
};

// Flags, each of one call.
inline constexpr unsigned kStreamDefault = 0;
inline constexpr unsigned kStreamNonBlocking = 1;  ///< not ordered with the legacy stream
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterDeviceMap = 2;

enum class MemLocationType : int { invalid = 0, device = 1, host = 2, host_numa = 3 };
enum class MemAllocationType : int { invalid = 0, pinned = 1 };
enum class MemHandleType : int { none = 0, posix_file_descriptor = 1, fabric = 8 };
enum class MemAccess : int { none = 0, read = 1, read_write = 3 };
enum class MemGranularity : int { minimum = 0, recommended = 1 };
enum class MemoryType : int { host = 1, device = 2, array = 3, unified = 4 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, thread_local_mode = 1, relaxed = 2 };
/// Times at which a copy of a batch may read its source.
enum class SourceOrder : int { invalid = 0, stream = 1, during_call = 2, any = 3 };

struct MemLocation {
  MemLocationType type = MemLocationType::invalid;
  int id = 0;
};

struct MemAllocationProp {
  MemAllocationType type = MemAllocationType::invalid;
  MemHandleType requested_handle_types = MemHandleType::none;  ///< bits; exports of other types are refused
  MemLocation location;
  void* win32_handle_meta_data = nullptr;
  struct Flags {
    unsigned char compression_type = 0;
    unsigned char gpu_direct_rdma_capable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};

struct MemAccessDesc {
  MemLocation location;
  MemAccess flags = MemAccess::none;
};

struct Memcpy2D {
  std::size_t src_x_bytes = 0, src_y = 0;
  MemoryType src_type = MemoryType::device;
  const void* src_host = nullptr;
  DevicePtr src_device = 0;
  ArrayHandle src_array = nullptr;
  std::size_t src_pitch = 0;
  std::size_t dst_x_bytes = 0, dst_y = 0;
  MemoryType dst_type = MemoryType::device;
  void* dst_host = nullptr;
  DevicePtr dst_device = 0;
  ArrayHandle dst_array = nullptr;
  std::size_t dst_pitch = 0;
  std::size_t width_bytes = 0, height = 0;
};

struct MemcpyAttributes {
  SourceOrder source_order = SourceOrder::stream;
  MemLocation src_hint, dst_hint;
  unsigned flags = 0;
};

/// X(name, exported symbol, parameters...); every function returns a Result. The symbols have explicit versions because
/// dlsym does not apply the toolkit's macros: cuMemAlloc without _v2 takes 32-bit sizes.
#define CANOPY_CUDA_REQUIRED(X)                                                                                   \
  X(init, cuInit, unsigned)                                                                                       \
  X(driver_get_version, cuDriverGetVersion, int*)                                                                 \
  X(get_error_name, cuGetErrorName, Result, const char**)                                                         \
  X(get_error_string, cuGetErrorString, Result, const char**)                                                     \
  X(device_get_count, cuDeviceGetCount, int*)                                                                     \
  X(device_get, cuDeviceGet, Device*, int)                                                                        \
  X(device_get_name, cuDeviceGetName, char*, int, Device)                                                         \
  X(device_get_attribute, cuDeviceGetAttribute, int*, DeviceAttribute, Device)                                    \
  X(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, ContextHandle*, Device)                                  \
  X(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2, Device)                                             \
  X(ctx_push_current, cuCtxPushCurrent_v2, ContextHandle)                                                         \
  X(ctx_pop_current, cuCtxPopCurrent_v2, ContextHandle*)                                                          \
  X(ctx_synchronize, cuCtxSynchronize)                                                                            \
  X(mem_get_info, cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                    \
  X(mem_alloc, cuMemAlloc_v2, DevicePtr*, std::size_t)                                                            \
  X(mem_free, cuMemFree_v2, DevicePtr)                                                                            \
  X(mem_host_alloc, cuMemHostAlloc, void**, std::size_t, unsigned)                                                \
  X(mem_free_host, cuMemFreeHost, void*)                                                                          \
  X(mem_host_register, cuMemHostRegister_v2, void*, std::size_t, unsigned)                                        \
  X(mem_host_unregister, cuMemHostUnregister, void*)                                                              \
  X(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2, DevicePtr*, void*, unsigned)                       \
  X(mem_address_reserve, cuMemAddressReserve, DevicePtr*, std::size_t, std::size_t, DevicePtr, std::uint64_t)     \
  X(mem_address_free, cuMemAddressFree, DevicePtr, std::size_t)                                                   \
  X(mem_create, cuMemCreate, MemHandle*, std::size_t, const MemAllocationProp*, std::uint64_t)                    \
  X(mem_release, cuMemRelease, MemHandle)                                                                         \
  X(mem_map, cuMemMap, DevicePtr, std::size_t, std::size_t, MemHandle, std::uint64_t)                             \
  X(mem_unmap, cuMemUnmap, DevicePtr, std::size_t)                                                                \
  X(mem_set_access, cuMemSetAccess, DevicePtr, std::size_t, const MemAccessDesc*, std::size_t)                    \
  X(mem_get_allocation_granularity, cuMemGetAllocationGranularity, std::size_t*, const MemAllocationProp*,        \
    MemGranularity)                                                                                               \
  X(mem_export_to_shareable_handle, cuMemExportToShareableHandle, void*, MemHandle, MemHandleType, std::uint64_t) \
  X(mem_import_from_shareable_handle, cuMemImportFromShareableHandle, MemHandle*, void*, MemHandleType)           \
  X(stream_create_with_priority, cuStreamCreateWithPriority, StreamHandle*, unsigned, int)                        \
  X(stream_destroy, cuStreamDestroy_v2, StreamHandle)                                                             \
  X(stream_synchronize, cuStreamSynchronize, StreamHandle)                                                        \
  X(stream_wait_event, cuStreamWaitEvent, StreamHandle, EventHandle, unsigned)                                    \
  X(stream_is_capturing, cuStreamIsCapturing, StreamHandle, CaptureStatus*)                                       \
  X(stream_begin_capture, cuStreamBeginCapture_v2, StreamHandle, CaptureMode)                                     \
  X(stream_end_capture, cuStreamEndCapture, StreamHandle, GraphHandle*)                                           \
  X(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode, CaptureMode*)                         \
  X(event_create, cuEventCreate, EventHandle*, unsigned)                                                          \
  X(event_destroy, cuEventDestroy_v2, EventHandle)                                                                \
  X(event_record, cuEventRecord, EventHandle, StreamHandle)                                                       \
  X(event_query, cuEventQuery, EventHandle)                                                                       \
  X(event_synchronize, cuEventSynchronize, EventHandle)                                                           \
  X(event_elapsed_time, cuEventElapsedTime, float*, EventHandle, EventHandle)                                     \
  X(memcpy_htod_async, cuMemcpyHtoDAsync_v2, DevicePtr, const void*, std::size_t, StreamHandle)                   \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, void*, DevicePtr, std::size_t, StreamHandle)                         \
  X(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, DevicePtr, DevicePtr, std::size_t, StreamHandle)                     \
  X(memcpy_2d_async, cuMemcpy2DAsync_v2, const Memcpy2D*, StreamHandle)                                           \
  X(memset_d8_async, cuMemsetD8Async, DevicePtr, unsigned char, std::size_t, StreamHandle)                        \
  X(module_load_data, cuModuleLoadData, ModuleHandle*, const void*)                                               \
  X(module_unload, cuModuleUnload, ModuleHandle)                                                                  \
  X(module_get_function, cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char*)                         \
  X(func_get_attribute, cuFuncGetAttribute, int*, FunctionAttribute, FunctionHandle)                              \
  X(launch_kernel, cuLaunchKernel, FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
    unsigned, StreamHandle, void**, void**)                                                                       \
  X(graph_instantiate_with_flags, cuGraphInstantiateWithFlags, GraphExecHandle*, GraphHandle, std::uint64_t)      \
  X(graph_launch, cuGraphLaunch, GraphExecHandle, StreamHandle)                                                   \
  X(graph_exec_destroy, cuGraphExecDestroy, GraphExecHandle)                                                      \
  X(graph_destroy, cuGraphDestroy, GraphHandle)

/// May be null (not in this driver). The batch copy has the signature of 12.8, with the index of the failed copy. That
/// symbol keeps its signature in later drivers; header 13 of the toolkit maps the same plain name to another symbol.
#define CANOPY_CUDA_OPTIONAL(X)                                                                                   \
  X(memcpy_batch_async, cuMemcpyBatchAsync, DevicePtr*, DevicePtr*, std::size_t*, std::size_t, MemcpyAttributes*, \
    std::size_t*, std::size_t, std::size_t*, StreamHandle)

}  // namespace canopy::cuda
