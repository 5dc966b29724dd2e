#pragma once
/// Rows of a store as a DLPack tensor, which PyTorch, JAX, CuPy and NumPy accept without a copy. The structs are those
/// of the DLPack specification, version 1.0 (https://dmlc.github.io/dlpack). A Python binding wraps the pointer in a
/// capsule named "dltensor_versioned".

#include <canopy/kv_store.h>

#include <algorithm>
#include <memory>

namespace canopy::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2 };
struct Device {
  std::int32_t type, id;
};
struct DataType {
  std::uint8_t code, bits;  ///< code 1: unsigned integers
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType type;
  std::int64_t *shape, *strides;  ///< both in elements
  std::uint64_t byte_offset;
};
struct Version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t kReadOnly = 1;
struct ManagedTensor {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensor* self);  ///< called once, by the last owner of the tensor
  std::uint64_t flags;
  Tensor tensor;
};

/// Returns the bytes of one stream and layer in one segment: (pages, page_size, row_bytes) of u8. The segment and the
/// store stay valid until the deleter is called. A tensor covers at most one segment, because access to a segment
/// without memory faults; kernels that look up pages take KVView. The consumer orders its work after the store's, as
/// for any tensor whose producer named no stream. REQUIRES: the segment is backed, stream < view().streams, layer <
/// layers(); the deleter is called on the thread that uses the store.
inline ManagedTensor* view_of(std::shared_ptr<KVStore> store, std::uint32_t segment, std::size_t stream,
                              std::uint32_t layer, bool read_only = true) {
  struct Manager {
    ManagedTensor managed;
    std::shared_ptr<KVStore> store;
    std::uint32_t segment;
    std::int64_t shape[3], strides[3];
  };
  const KVView& view = store->view();
  const KVStream& of = view.stream[stream];
  store->pin(segment);
  auto* const manager = new Manager{{}, std::move(store), segment, {}, {}};
  const std::int64_t shape[] = {view.segment_pages, view.page_size, of.row_bytes};
  const std::int64_t strides[] = {static_cast<std::int64_t>(of.page_stride), of.token_stride, 1};
  std::copy(shape, shape + 3, manager->shape);
  std::copy(strides, strides + 3, manager->strides);
  const auto release = [](ManagedTensor* self) {
    auto* const owner = static_cast<Manager*>(self->manager);
    owner->store->unpin(owner->segment);
    delete owner;
  };
  manager->managed = {{1, 0},
                      manager,
                      release,
                      read_only ? kReadOnly : 0,
                      {view.page(stream, layer, segment * view.segment_pages),
                       {view.device == kHost ? kCpu : kCuda, view.device == kHost ? 0 : view.device},
                       3,
                       {1, 8, 1},
                       manager->shape,
                       manager->strides,
                       0}};
  return &manager->managed;
}

}  // namespace canopy::dlpack
