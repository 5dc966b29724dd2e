#pragma once

#include <canopy/kv_store.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "session.h"

namespace canopy::bench::gpu {

/// The store as a configuration would have it, all of its segments with memory unless told otherwise. Its calls queue
/// on the device's stream.
class Pool {
 public:
  struct Shape {
    std::vector<std::uint32_t> rows;
    std::uint32_t layers = 1;
    Units page_size = 16;
    std::uint64_t pages = 0;
    std::uint32_t segment_pages = 0;
    std::uint32_t ahead = 0;
    std::uint32_t backed = ~std::uint32_t{0};  ///< segments that get memory
    std::uint64_t page_bytes() const;
  };
  /// Throws if the device has less memory than that.
  Pool(Session& session, const Shape& shape);

  KVStore& store() { return *store_; }
  Mover& mover() { return *mover_; }
  std::uint32_t backed() const { return backed_; }
  std::uint64_t pages() const { return order_.size(); }
  /// The next `count` pages in an order that is fixed and like a used pool's: two calls in a row share none.
  /// REQUIRES: count <= pages().
  std::span<const Page> next(std::size_t count);
  /// Throws what sync() of the store answers.
  void check();

 private:
  std::shared_ptr<KVStore> store_;
  std::unique_ptr<Mover> mover_;
  std::vector<Page> order_;
  std::size_t at_ = 0;
  std::uint32_t backed_ = 0;
};

}  // namespace canopy::bench::gpu
