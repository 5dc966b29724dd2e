// Our declarations of the CUDA driver against the toolkit's. Nothing here runs: it compiles, or we were wrong.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

#include <cuda/driver_abi.h>

namespace canopy::cuda {
namespace {

template <class T>
concept Complete = requires { sizeof(T); };

/// The same bytes in the same registers: size and kind, for pointers also of what they point to.
template <class Ours, class Theirs>
constexpr bool same() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
      using A = std::remove_pointer_t<Ours>;
      using B = std::remove_pointer_t<Theirs>;
      if constexpr (std::is_const_v<A> != std::is_const_v<B> || std::is_void_v<A> != std::is_void_v<B>) return false;
      else if constexpr (std::is_void_v<A>) return true;
      else if constexpr (Complete<A> && Complete<B>) return same<A, B>();
      else return !Complete<A> && !Complete<B>;
    } else {
      return false;
    }
  } else {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_class_v<Ours> == std::is_class_v<Theirs> &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... P, class S, class... Q>
  requires(sizeof...(P) == sizeof...(Q))
struct SameCall<R (*)(P...), S (*)(Q...)> : std::bool_constant<same<R, S>() && (... && same<P, Q>())> {};

#define CANOPY_X(name, symbol, ...) \
  static_assert(SameCall<Result (*)(__VA_ARGS__), decltype(&::symbol)>::value, #symbol " has another signature");
CANOPY_CUDA_REQUIRED(CANOPY_X)
#undef CANOPY_X
// Not the header's cuMemcpyBatchAsync, which is a macro for the later form.
#define CANOPY_X(name, symbol, ...) Result (*)(__VA_ARGS__)
static_assert(SameCall<CANOPY_CUDA_OPTIONAL(CANOPY_X), PFN_cuMemcpyBatchAsync_v12080>::value);
#undef CANOPY_X

#define CANOPY_X(name, driver_name, value)                                                 \
  static_assert(static_cast<int>(Result::name) == static_cast<int>(::driver_name), #name); \
  static_assert(static_cast<int>(Result::name) == (value), #name);
CANOPY_CUDA_RESULTS(CANOPY_X)
#undef CANOPY_X

#define CHECK_VALUE(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
CHECK_VALUE(DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
CHECK_VALUE(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
CHECK_VALUE(DeviceAttribute::integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
CHECK_VALUE(DeviceAttribute::can_map_host_memory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
CHECK_VALUE(DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
CHECK_VALUE(DeviceAttribute::max_threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
CHECK_VALUE(DeviceAttribute::async_engine_count, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
CHECK_VALUE(DeviceAttribute::unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
CHECK_VALUE(DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CHECK_VALUE(DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
CHECK_VALUE(DeviceAttribute::max_shared_memory_per_multiprocessor,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
CHECK_VALUE(DeviceAttribute::pageable_memory_access, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
CHECK_VALUE(DeviceAttribute::can_use_host_pointer_for_registered_mem,
            CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
CHECK_VALUE(DeviceAttribute::max_shared_memory_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
CHECK_VALUE(DeviceAttribute::host_register_supported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
CHECK_VALUE(DeviceAttribute::virtual_memory_management_supported,
            CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
CHECK_VALUE(DeviceAttribute::handle_type_posix_file_descriptor_supported,
            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
CHECK_VALUE(DeviceAttribute::gpu_direct_rdma_with_cuda_vmm_supported,
            CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
CHECK_VALUE(DeviceAttribute::dma_buf_supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
CHECK_VALUE(DeviceAttribute::handle_type_fabric_supported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
CHECK_VALUE(FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
CHECK_VALUE(FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
CHECK_VALUE(FunctionAttribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
CHECK_VALUE(FunctionAttribute::num_regs, CU_FUNC_ATTRIBUTE_NUM_REGS);
CHECK_VALUE(FunctionAttribute::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION);
CHECK_VALUE(FunctionAttribute::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
CHECK_VALUE(FunctionAttribute::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
CHECK_VALUE(kStreamDefault, CU_STREAM_DEFAULT);
CHECK_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
CHECK_VALUE(kEventDefault, CU_EVENT_DEFAULT);
CHECK_VALUE(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
CHECK_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
CHECK_VALUE(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
CHECK_VALUE(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
CHECK_VALUE(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
CHECK_VALUE(kHostRegisterDeviceMap, CU_MEMHOSTREGISTER_DEVICEMAP);
CHECK_VALUE(MemLocationType::invalid, CU_MEM_LOCATION_TYPE_INVALID);
CHECK_VALUE(MemLocationType::device, CU_MEM_LOCATION_TYPE_DEVICE);
CHECK_VALUE(MemLocationType::host, CU_MEM_LOCATION_TYPE_HOST);
CHECK_VALUE(MemLocationType::host_numa, CU_MEM_LOCATION_TYPE_HOST_NUMA);
CHECK_VALUE(MemAllocationType::pinned, CU_MEM_ALLOCATION_TYPE_PINNED);
CHECK_VALUE(MemHandleType::none, CU_MEM_HANDLE_TYPE_NONE);
CHECK_VALUE(MemHandleType::posix_file_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
CHECK_VALUE(MemHandleType::fabric, CU_MEM_HANDLE_TYPE_FABRIC);
CHECK_VALUE(MemAccess::none, CU_MEM_ACCESS_FLAGS_PROT_NONE);
CHECK_VALUE(MemAccess::read, CU_MEM_ACCESS_FLAGS_PROT_READ);
CHECK_VALUE(MemAccess::read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
CHECK_VALUE(MemGranularity::minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
CHECK_VALUE(MemGranularity::recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
CHECK_VALUE(MemoryType::host, CU_MEMORYTYPE_HOST);
CHECK_VALUE(MemoryType::device, CU_MEMORYTYPE_DEVICE);
CHECK_VALUE(MemoryType::array, CU_MEMORYTYPE_ARRAY);
CHECK_VALUE(MemoryType::unified, CU_MEMORYTYPE_UNIFIED);
CHECK_VALUE(CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE);
CHECK_VALUE(CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
CHECK_VALUE(CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
CHECK_VALUE(CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL);
CHECK_VALUE(CaptureMode::thread_local_mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
CHECK_VALUE(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
CHECK_VALUE(SourceOrder::invalid, CU_MEMCPY_SRC_ACCESS_ORDER_INVALID);
CHECK_VALUE(SourceOrder::stream, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
CHECK_VALUE(SourceOrder::during_call, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
CHECK_VALUE(SourceOrder::any, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);

#define CHECK_MEMBER(Ours, ours, Theirs, theirs)                                         \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs), #Theirs "::" #theirs); \
  static_assert(sizeof(Ours::ours) == sizeof(Theirs::theirs), #Theirs "::" #theirs)
#define CHECK_WHOLE(Ours, Theirs) \
  static_assert(sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs), #Theirs)

CHECK_WHOLE(MemLocation, CUmemLocation);
CHECK_MEMBER(MemLocation, type, CUmemLocation, type);
CHECK_MEMBER(MemLocation, id, CUmemLocation, id);
CHECK_WHOLE(MemAllocationProp, CUmemAllocationProp);
CHECK_MEMBER(MemAllocationProp, type, CUmemAllocationProp, type);
CHECK_MEMBER(MemAllocationProp, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
CHECK_MEMBER(MemAllocationProp, location, CUmemAllocationProp, location);
CHECK_MEMBER(MemAllocationProp, win32_handle_meta_data, CUmemAllocationProp, win32HandleMetaData);
CHECK_MEMBER(MemAllocationProp, flags, CUmemAllocationProp, allocFlags);
CHECK_MEMBER(MemAllocationProp, flags.compression_type, CUmemAllocationProp, allocFlags.compressionType);
CHECK_MEMBER(MemAllocationProp, flags.gpu_direct_rdma_capable, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
CHECK_MEMBER(MemAllocationProp, flags.usage, CUmemAllocationProp, allocFlags.usage);
CHECK_WHOLE(MemAccessDesc, CUmemAccessDesc);
CHECK_MEMBER(MemAccessDesc, location, CUmemAccessDesc, location);
CHECK_MEMBER(MemAccessDesc, flags, CUmemAccessDesc, flags);
CHECK_WHOLE(MemcpyAttributes, CUmemcpyAttributes);
CHECK_MEMBER(MemcpyAttributes, source_order, CUmemcpyAttributes, srcAccessOrder);
CHECK_MEMBER(MemcpyAttributes, src_hint, CUmemcpyAttributes, srcLocHint);
CHECK_MEMBER(MemcpyAttributes, dst_hint, CUmemcpyAttributes, dstLocHint);
CHECK_MEMBER(MemcpyAttributes, flags, CUmemcpyAttributes, flags);
CHECK_WHOLE(Memcpy2D, CUDA_MEMCPY2D);
CHECK_MEMBER(Memcpy2D, src_x_bytes, CUDA_MEMCPY2D, srcXInBytes);
CHECK_MEMBER(Memcpy2D, src_y, CUDA_MEMCPY2D, srcY);
CHECK_MEMBER(Memcpy2D, src_type, CUDA_MEMCPY2D, srcMemoryType);
CHECK_MEMBER(Memcpy2D, src_host, CUDA_MEMCPY2D, srcHost);
CHECK_MEMBER(Memcpy2D, src_device, CUDA_MEMCPY2D, srcDevice);
CHECK_MEMBER(Memcpy2D, src_array, CUDA_MEMCPY2D, srcArray);
CHECK_MEMBER(Memcpy2D, src_pitch, CUDA_MEMCPY2D, srcPitch);
CHECK_MEMBER(Memcpy2D, dst_x_bytes, CUDA_MEMCPY2D, dstXInBytes);
CHECK_MEMBER(Memcpy2D, dst_y, CUDA_MEMCPY2D, dstY);
CHECK_MEMBER(Memcpy2D, dst_type, CUDA_MEMCPY2D, dstMemoryType);
CHECK_MEMBER(Memcpy2D, dst_host, CUDA_MEMCPY2D, dstHost);
CHECK_MEMBER(Memcpy2D, dst_device, CUDA_MEMCPY2D, dstDevice);
CHECK_MEMBER(Memcpy2D, dst_array, CUDA_MEMCPY2D, dstArray);
CHECK_MEMBER(Memcpy2D, dst_pitch, CUDA_MEMCPY2D, dstPitch);
CHECK_MEMBER(Memcpy2D, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
CHECK_MEMBER(Memcpy2D, height, CUDA_MEMCPY2D, Height);

}  // namespace
}  // namespace canopy::cuda
