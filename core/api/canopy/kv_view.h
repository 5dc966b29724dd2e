#pragma once
/// Where the rows of a pool are in device memory: plain data that a kernel of anybody takes by value.

#include <cstddef>
#include <cstdint>

namespace canopy {

/// One stream of rows. A page's bytes of one layer start at
///   base + (page / segment_pages) * segment_stride + layer * layer_stride + (page % segment_pages) * page_stride
/// and its tokens follow each other token_stride apart. Neither base nor a stride ever changes while the pool lives.
struct KvStream {
  std::byte* base;
  std::uint64_t segment_stride, layer_stride, page_stride;  ///< bytes
  std::uint32_t token_stride, row_bytes;                    ///< bytes; token_stride >= row_bytes
};

struct KvView {
  KvStream stream[4];
  std::uint32_t streams, layers;
  std::uint32_t page_size;      ///< tokens, a power of two
  std::uint32_t segment_pages;  ///< a power of two
};

}  // namespace canopy
