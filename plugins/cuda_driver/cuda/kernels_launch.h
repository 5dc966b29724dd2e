#pragma once
/// Choice of kernel and grid for a job. Plain C++ for the host, without CUDA calls.

#include "kernels.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

namespace canopy::cuda {

enum class Kernel : std::uint32_t { rows_scatter, rows_gather, page_copy, image_gather, image_scatter };

/// Blocks of kThreads threads. x == 0 means no work; the driver would refuse such a launch.
struct Grid {
  std::uint32_t x = 0, y = 1;
};

inline constexpr std::uint32_t kNoCap = ~std::uint32_t{0};

/// Returns the pool of a view. REQUIRES: page_size and segment_pages are powers of two, streams is 1 to 4, and no row
/// is empty.
inline Pool pool_of(const KVView& view) {
  Pool pool{};
  std::copy(std::begin(view.stream), std::end(view.stream), pool.stream);
  pool.streams = view.streams;
  pool.layers = view.layers;
  pool.page_shift = static_cast<std::uint32_t>(std::countr_zero(view.page_size));
  pool.segment_shift = static_cast<std::uint32_t>(std::countr_zero(view.segment_pages));
  return pool;
}

/// Returns the bytes of a page image without its padding.
inline std::uint64_t image_bytes(const Pool& pool) { return image_offset(pool, pool.streams); }
/// Returns the distance between images in bytes: a multiple of 4096, which direct file access requires.
inline std::uint64_t image_stride(const Pool& pool) { return (image_bytes(pool) + 4095) / 4096 * 4096; }

/// Returns the widest access that divides everything in `bits` (addresses, strides and sizes, combined with or).
inline std::uint32_t width_of(std::uint64_t bits) { return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1; }

/// Returns the bits of addresses, strides and sizes that must be aligned. Tokens without gaps are moved as one run, so
/// only whole pages of them need the alignment.
inline std::uint64_t alignment_bits(const KVStream& stream, std::uint32_t page_shift, bool single_rows) {
  const std::uint64_t place =
      std::bit_cast<std::uintptr_t>(stream.base) | stream.segment_stride | stream.layer_stride | stream.page_stride;
  if (single_rows || stream.token_stride != stream.row_bytes) return place | stream.token_stride | stream.row_bytes;
  return place | std::uint64_t{stream.row_bytes} << page_shift;
}

inline std::uint32_t width(const RowsJob& job) {
  std::uint64_t bits = 0;
  for (std::uint32_t s = 0; s < job.pool.streams; ++s)
    bits |= alignment_bits(job.pool.stream[s], job.pool.page_shift, true) | std::bit_cast<std::uintptr_t>(job.rows[s]);
  return width_of(bits);
}
inline std::uint32_t width(const PagesJob& job) {
  std::uint64_t bits = 0;
  for (std::uint32_t s = 0; s < job.pool.streams; ++s)
    bits |= alignment_bits(job.pool.stream[s], job.pool.page_shift, false);
  return width_of(bits);
}
/// Returns the width. The start of a stream in an image needs no check: it is a multiple of the sizes of the streams
/// before it.
inline std::uint32_t width(const ImageJob& job) {
  std::uint64_t bits = std::bit_cast<std::uintptr_t>(job.images) | job.image_stride;
  for (std::uint32_t s = 0; s < job.pool.streams; ++s)
    bits |= alignment_bits(job.pool.stream[s], job.pool.page_shift, false);
  return width_of(bits);
}

/// Returns the kernel's symbol in the image. REQUIRES: width is 16, 4 or 1.
inline const char* kernel_name(Kernel kernel, std::uint32_t width) {
#define CANOPY_KERNEL_NAME(name, Job, bytes) \
  if (kernel == Kernel::name && width == bytes) return #name "_" #bytes;
  CANOPY_KERNELS(CANOPY_KERNEL_NAME)
#undef CANOPY_KERNEL_NAME
  return nullptr;
}

inline std::uint32_t blocks_for(std::uint64_t lanes, std::uint64_t most) {
  return static_cast<std::uint32_t>(std::min(lanes / kThreads + (lanes % kThreads != 0), most));
}

/// Returns a grid with one lane per vector, up to eight blocks per multiprocessor; y is the stream. `cap` limits the
/// blocks of the whole grid, but each stream gets at least one. REQUIRES: sms > 0, and width as returned by width(job).
inline Grid rows_grid(const RowsJob& job, std::uint32_t width, std::uint32_t sms, std::uint32_t cap = kNoCap) {
  std::uint64_t lanes = 0;
  for (std::uint32_t s = 0; s < job.pool.streams; ++s) {
    const std::uint32_t vectors = job.pool.stream[s].row_bytes / width, shift = lane_shift(vectors, 1);
    lanes = std::max(lanes, (std::uint64_t{(vectors - 1) >> shift} + 1) * job.count << shift);
  }
  const std::uint64_t all = std::min(std::uint64_t{sms} * 8, std::uint64_t{cap});
  return {blocks_for(lanes, std::max(all / job.pool.streams, std::uint64_t{1})), job.pool.streams};
}

/// Returns a grid for page_copy and the image kernels: up to four blocks per multiprocessor. `cap` limits the blocks
/// where the bus is the bottleneck. REQUIRES: sms > 0, cap > 0, and width as returned by width(job).
inline Grid pages_grid(const Pool& pool, std::uint32_t count, std::uint32_t width, std::uint32_t sms,
                       std::uint32_t cap = kNoCap) {
  const std::uint64_t most = std::min(std::uint64_t{sms} * 4, std::uint64_t{cap});
  std::uint64_t blocks = 0;
  for (std::uint32_t s = 0; s < pool.streams; ++s) {
    const Runs runs = width == 16  ? runs_of<16>(pool.stream[s], pool.page_shift)
                      : width == 4 ? runs_of<4>(pool.stream[s], pool.page_shift)
                                   : runs_of<1>(pool.stream[s], pool.page_shift);
    const std::uint64_t chunk_lanes = std::uint64_t{1} << runs.lane_shift;
    const std::uint64_t chunk_bytes = chunk_lanes * width * 4;
    const std::uint64_t page_lanes = ((runs.bytes + chunk_bytes - 1) / chunk_bytes * chunk_lanes * pool.layers)
                                     << runs.log2;
    // If one page fills the grid, the product with count is not needed, and it might overflow.
    blocks = std::max(blocks, page_lanes / kThreads >= most ? most * (count != 0)
                                                            : std::uint64_t{blocks_for(page_lanes * count, most)});
  }
  return {static_cast<std::uint32_t>(blocks), 1};
}

}  // namespace canopy::cuda
