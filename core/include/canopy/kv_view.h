#pragma once

#include <canopy/types.h>

namespace canopy {

inline constexpr std::size_t kMaxStreams = 4;

/// The places of the rows of one stream. All strides are in bytes.
struct KvStream {
  std::byte* base;  ///< reserved addresses, constant for the lifetime of the store
  std::uint64_t segment_stride, layer_stride, page_stride;
  std::uint32_t token_stride, row_bytes;
};

inline constexpr std::int32_t kHost = -1;

/// All that a kernel needs to find a row, in a few hundred bytes: passed by value, and safe to keep in a captured CUDA
/// graph, since nothing in it ever changes.
///
///   address = base + page / segment_pages * segment_stride + layer * layer_stride
///                  + page % segment_pages * page_stride    + token * token_stride
///
/// Addresses of a segment without memory fault. A kernel that knows nothing of segments reads a layer as an ordinary
/// paged pool: base + layer * layer_stride, page_stride apart, with kernel_page() for page numbers. These are the same
/// for all streams.
struct KvView {
  KvStream stream[kMaxStreams];  ///< a plain array, since kernels index it
  std::uint32_t streams, layers;
  Units page_size;              ///< tokens
  std::uint32_t segment_pages;  ///< segment s holds the pages from s * segment_pages on
  std::uint32_t kernel_pages;   ///< distance between two segments, in pages
  std::uint32_t segments;       ///< segments for which addresses are reserved
  std::int32_t device;          ///< device that has the memory, as the CUDA driver counts; or kHost

  std::uint64_t offset(std::size_t of, std::uint32_t layer, Page page) const {
    const KvStream& in = stream[of];
    return page / segment_pages * in.segment_stride + layer * in.layer_stride + page % segment_pages * in.page_stride;
  }
  std::byte* page(std::size_t of, std::uint32_t layer, Page page) const {
    return stream[of].base + offset(of, layer, page);
  }
  std::uint64_t kernel_page(Page page) const {
    return std::uint64_t{page / segment_pages} * kernel_pages + page % segment_pages;
  }
};

}  // namespace canopy
