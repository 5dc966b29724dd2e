#pragma once

#include <canopy/kv_store.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "session.h"

namespace canopy::bench::gpu {

/// A store with `backed` segments of memory. Its calls queue on the device's stream.
class Pool {
 public:
  struct Shape {
    std::vector<std::uint32_t> rows;
    std::uint32_t layers = 1;
    Units page_size = 16;
    std::uint64_t pages = 0;
    std::uint32_t segment_pages = 0;
    std::uint32_t ahead = 0;
    std::uint32_t backed = ~std::uint32_t{0};  ///< number of segments with memory; all by default
    std::uint64_t page_bytes() const;
  };
  /// Makes the pool. Throws if the device has too little memory.
  Pool(Session& session, const Shape& shape);

  KVStore& store() { return *store_; }
  Mover& mover() { return *mover_; }
  std::uint32_t backed() const { return backed_; }
  std::uint64_t pages() const { return order_.size(); }
  /// Returns the next `count` pages of a fixed shuffled order, like that of a used pool. Two consecutive calls share
  /// none. REQUIRES: count <= pages().
  std::span<const Page> next(std::size_t count);
  /// Calls `each` with the place and the bytes of each run of these pages, in the order of their images.
  template <class Each>
  void for_runs(std::span<const Page> pages, Each&& each) {
    const KVView& view = store_->view();
    for (const Page page : pages)
      for (std::uint32_t s = 0; s < view.streams; ++s)
        for (std::uint32_t layer = 0; layer < view.layers; ++layer)
          each(reinterpret_cast<DevicePtr>(view.page(s, layer, page)), view.stream[s].page_stride);
  }
  /// Waits for the store, and throws if it failed.
  void check();

 private:
  std::shared_ptr<KVStore> store_;
  std::unique_ptr<Mover> mover_;
  std::vector<Page> order_;
  std::size_t at_ = 0;
  std::uint32_t backed_ = 0;
};

}  // namespace canopy::bench::gpu
