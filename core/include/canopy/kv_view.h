#pragma once

#include <canopy/types.h>

namespace canopy {

inline constexpr std::size_t kMaxStreams = 4;

/// The layout of the rows of one stream. All strides and sizes are in bytes.
struct KVStream {
  std::byte* base;  ///< reserved addresses, constant for the lifetime of the store
  std::uint64_t segment_stride, layer_stride, page_stride;
  std::uint32_t token_stride, row_bytes;
};

inline constexpr std::int32_t kHost = -1;

/// Everything that a kernel needs to find a row, in a few hundred bytes: passed by value, and safe to keep in a
/// captured CUDA graph, because it never changes.
///
///   address = base + page / segment_pages * segment_stride + layer * layer_stride
///                  + page % segment_pages * page_stride    + token * token_stride
///
/// Access to a segment without memory faults. A kernel without support for segments treats a layer as an
/// ordinary paged pool, which starts at base + layer * layer_stride and has a page every page_stride bytes. Its page
/// numbers are those of kernel_page(), the same for all streams.
struct KVView {
  KVStream stream[kMaxStreams];  ///< streams, in a plain array because kernels index it
  std::uint32_t streams, layers;
  Units page_size;              ///< tokens
  std::uint32_t segment_pages;  ///< segment s holds the pages from s * segment_pages on
  std::uint32_t kernel_pages;   ///< distance between two segments, in pages
  std::uint32_t segments;       ///< segments for which addresses are reserved
  std::int32_t device;          ///< device with the memory, numbered as by the CUDA driver; kHost: host memory

  /// Returns the bytes from the base of a stream to a page of a layer.
  std::uint64_t offset(std::size_t of, std::uint32_t layer, Page page) const {
    const KVStream& in = stream[of];
    return page / segment_pages * in.segment_stride + layer * in.layer_stride + page % segment_pages * in.page_stride;
  }
  std::byte* page(std::size_t of, std::uint32_t layer, Page page) const {
    return stream[of].base + offset(of, layer, page);
  }
  /// Returns the number of a page in the pool as a kernel without segments reads it.
  std::uint64_t kernel_page(Page page) const {
    return std::uint64_t{page / segment_pages} * kernel_pages + page % segment_pages;
  }
};

}  // namespace canopy
