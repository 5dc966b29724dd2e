#pragma once
/// The usual layout of rows. For each stream, a segment is one piece of memory with [layer][page][token][row] of its
/// pages. Growth then costs one mapping per stream, not one per layer, and the part of a layer in a segment is still
/// long enough for attention to read at full speed. Each stream has its own range of addresses and its own strides.

#include <canopy/kv_store.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace canopy {

/// Returns the bytes of a page in all layers and streams; nothing if the number does not fit into 64 bits.
inline std::optional<std::uint64_t> page_bytes(std::span<const Stream> streams, std::uint32_t layers, Units page_size) {
  std::uint64_t token = 0, bytes = 0;
  for (const Stream& stream : streams) token += stream.row_bytes;
  if (__builtin_mul_overflow(token * layers, std::uint64_t{page_size}, &bytes)) return std::nullopt;
  return bytes;
}

/// Returns the default number of pages in a segment: a power of two, as many as fit into 192 MiB; at most 65536, and at
/// most the pool's limit rounded up to a power of two.
inline std::uint32_t usual_segment_pages(std::uint64_t page_bytes, std::uint64_t pool_pages) {
  constexpr std::uint64_t kBytes = std::uint64_t{192} << 20, kMost = 65536;
  const std::uint64_t most =
      std::bit_floor(std::clamp<std::uint64_t>(kBytes / std::max<std::uint64_t>(page_bytes, 1), 1, kMost));
  return static_cast<std::uint32_t>(pool_pages < most ? std::bit_ceil(std::max<std::uint64_t>(pool_pages, 1)) : most);
}

struct KVLayout {
  KVView view{};                                  ///< view with null bases, which the store sets
  std::array<std::uint64_t, kMaxStreams> used{};  ///< bytes at the start of a stream's segment that need memory
  std::uint64_t segment_bytes() const { return used[0] + used[1] + used[2] + used[3]; }
  std::uint64_t segment_stride() const {
    std::uint64_t bytes = 0;
    for (std::size_t s = 0; s < view.streams; ++s) bytes += view.stream[s].segment_stride;
    return bytes;
  }
};

/// Places segments at multiples of `granularity` bytes, spaced so that one page number is valid in every stream. Gaps
/// take address space but no memory. The number of segments is the largest for which `addresses` bytes suffice, with at
/// most 2^32 pages, and at most 2^31 as kernels number them. Returns nothing if that is 0, or if a stride does not fit
/// into 64 bits. REQUIRES: 1 to kMaxStreams streams, row_bytes > 0 in each; granularity is a power of two.
inline std::optional<KVLayout> lay_out(std::span<const Stream> streams, std::uint32_t layers, Units page_size,
                                       std::uint32_t segment_pages, std::uint64_t granularity,
                                       std::uint64_t addresses) {
  KVLayout layout;
  KVView& view = layout.view;
  view.streams = static_cast<std::uint32_t>(streams.size());
  view.layers = layers;
  view.page_size = page_size;
  view.segment_pages = segment_pages;
  view.device = kHost;
  std::uint64_t step = 1;  // pages that are whole granules in every stream
  for (const Stream& stream : streams) {
    const std::uint64_t page = std::uint64_t{stream.row_bytes} * page_size;
    step = std::max(step, granularity >> std::min(std::countr_zero(page), std::countr_zero(granularity)));
  }
  const std::uint64_t apart = (std::uint64_t{layers} * segment_pages + step - 1) & ~(step - 1);
  if (apart > ~std::uint32_t{0}) return std::nullopt;
  view.kernel_pages = static_cast<std::uint32_t>(apart);
  std::uint64_t total = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    KVStream& stream = view.stream[s];
    stream.row_bytes = stream.token_stride = streams[s].row_bytes;
    stream.page_stride = std::uint64_t{stream.row_bytes} * page_size;
    stream.layer_stride = stream.page_stride * segment_pages;
    if (__builtin_mul_overflow(stream.page_stride, apart, &stream.segment_stride) ||
        __builtin_add_overflow(total, stream.segment_stride, &total))
      return std::nullopt;
    layout.used[s] = (stream.layer_stride * layers + granularity - 1) & ~(granularity - 1);
  }
  const std::uint64_t pages = std::uint64_t{1} << 32;
  view.segments = static_cast<std::uint32_t>(
      std::min({addresses / total, (pages + segment_pages - 1) / segment_pages, (std::uint64_t{1} << 31) / apart}));
  if (view.segments == 0) return std::nullopt;
  return layout;
}

}  // namespace canopy
