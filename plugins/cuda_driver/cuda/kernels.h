#pragma once
/// The work of one thread in each kernel of the CUDA store. Threads neither wait for each other nor share memory, so a
/// loop over blocks and threads on the CPU (kernels_twin.h) runs the same code. Kernels move bytes, whatever the dtype.
/// Every grid and block size gives the same result. REQUIRES, for a launch: while the kernel runs, nothing writes what
/// it reads, not even the kernel itself, because loads take the non-coherent path.

#include <canopy/kv_view.h>

#include <cassert>
#include <cstring>

#ifdef __CUDACC__
#define CANOPY_HD __host__ __device__
#else
#define CANOPY_HD
#endif

namespace canopy::cuda {

inline constexpr std::uint32_t kThreads = 256;                 ///< threads in a block
inline constexpr std::uint32_t kMaxJobBytes = 4096;            ///< bytes of launch parameters that every driver accepts
inline constexpr std::uint32_t kSkipPage = ~std::uint32_t{0};  ///< an unused element of a list: padding of a graph

/// A KVView with shifts for its powers of two.
struct Pool {
  KVStream stream[4];
  std::uint32_t streams, layers;
  std::uint32_t page_shift, segment_shift;  ///< log2 of tokens per page and of pages per segment; below 32
};

inline constexpr std::uint32_t kInlineRowPages = (kMaxJobBytes - sizeof(Pool) - 56) / 4;
inline constexpr std::uint32_t kInlinePages = (kMaxJobBytes - sizeof(Pool) - 24) / 8;
inline constexpr std::uint32_t kInlineImages = (kMaxJobBytes - sizeof(Pool) - 32) / 4;

/// Rows of one layer: rows_scatter writes them to the pool, rows_gather reads them from it. Row r is token first + r,
/// counted from the start of the list's first page. REQUIRES: the list is long enough; no page occurs twice when
/// scattering; the rows are outside the pool.
struct RowsJob {
  Pool pool;
  std::byte* rows[4];          ///< packed rows by stream, row_bytes apart
  const std::uint32_t* pages;  ///< in device memory; null: inline_pages is used
  std::uint32_t layer, first, count, unused;
  std::uint32_t inline_pages[kInlineRowPages];
};

/// page_copy: whole pages, all layers and streams. Skips pairs with kSkipPage on either side. REQUIRES: no page of `to`
/// is in `from` or twice in `to`.
struct PagesJob {
  Pool pool;
  const std::uint32_t *from, *to;  ///< in device memory; null: the inline list of that side is used
  std::uint32_t count, unused;
  std::uint32_t inline_from[kInlinePages], inline_to[kInlinePages];
};

/// image_gather packs pages into images, image_scatter unpacks them. Image i, of page i of the list, starts at images +
/// i * image_stride and contains [stream][layer][token][row] without gaps. The rest up to the stride is never touched.
/// REQUIRES: image_stride is a multiple of 4096; no page occurs twice when scattering.
struct ImageJob {
  Pool pool;
  std::byte* images;
  std::uint64_t image_stride;
  const std::uint32_t* pages;  ///< in device memory; null: inline_pages is used
  std::uint32_t count, unused;
  std::uint32_t inline_pages[kInlineImages];
};

static_assert(sizeof(RowsJob) == kMaxJobBytes && sizeof(PagesJob) == kMaxJobBytes && sizeof(ImageJob) == kMaxJobBytes);

/// A thread of a grid. REQUIRES: fewer than 2^32 threads in the grid.
struct Place {
  std::uint32_t x, xs;  ///< block and number of blocks in x
  std::uint32_t y, ys;  ///< in y: rows kernels use one y per stream, so that K and V are in different blocks
  std::uint32_t thread, threads;
};

/// One access of a thread. REQUIRES: addresses and strides are aligned to its size.
template <std::uint32_t kWidth>
struct Vector;
template <>
struct Vector<16> {
  std::uint32_t words[4];
};
template <>
struct Vector<4> {
  std::uint32_t words[1];
};
template <>
struct Vector<1> {
  std::uint8_t byte;
};

#ifdef __CUDA_ARCH__
// Data is read once, so it stays out of L1. Volatile keeps the loads of a batch before its stores.
__device__ __forceinline__ void load(Vector<16>& value, const std::byte* at) {
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.words[0]), "=r"(value.words[1]), "=r"(value.words[2]), "=r"(value.words[3])
               : "l"(__cvta_generic_to_global(at)));
}
__device__ __forceinline__ void load(Vector<4>& value, const std::byte* at) {
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(value.words[0]) : "l"(__cvta_generic_to_global(at)));
}
__device__ __forceinline__ void load(Vector<1>& value, const std::byte* at) {
  std::uint16_t wide;
  asm volatile("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(wide) : "l"(__cvta_generic_to_global(at)));
  value.byte = static_cast<std::uint8_t>(wide);
}
__device__ __forceinline__ void store(std::byte* at, const Vector<16>& value) {
  *reinterpret_cast<uint4*>(at) = make_uint4(value.words[0], value.words[1], value.words[2], value.words[3]);
}
__device__ __forceinline__ void store(std::byte* at, const Vector<4>& value) {
  *reinterpret_cast<std::uint32_t*>(at) = value.words[0];
}
__device__ __forceinline__ void store(std::byte* at, const Vector<1>& value) {
  *reinterpret_cast<std::uint8_t*>(at) = value.byte;
}
__device__ __forceinline__ std::uint32_t load_index(const std::uint32_t* at) { return __ldg(at); }
__device__ __forceinline__ std::uint32_t leading_zeros(std::uint32_t n) { return static_cast<std::uint32_t>(__clz(n)); }
#else
template <std::uint32_t kWidth>
CANOPY_HD inline void load(Vector<kWidth>& value, const std::byte* at) {
  assert(reinterpret_cast<std::uintptr_t>(at) % kWidth == 0);
  std::memcpy(&value, at, kWidth);
}
template <std::uint32_t kWidth>
CANOPY_HD inline void store(std::byte* at, const Vector<kWidth>& value) {
  assert(reinterpret_cast<std::uintptr_t>(at) % kWidth == 0);
  std::memcpy(at, &value, kWidth);
}
CANOPY_HD inline std::uint32_t load_index(const std::uint32_t* at) { return *at; }
CANOPY_HD inline std::uint32_t leading_zeros(std::uint32_t n) {
  return n == 0 ? 32 : static_cast<std::uint32_t>(__builtin_clz(n));
}
#endif

CANOPY_HD inline std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
/// REQUIRES, for both: n > 0.
CANOPY_HD inline std::uint32_t floor_log2(std::uint32_t n) { return 31 - leading_zeros(n); }
CANOPY_HD inline std::uint32_t ceil_log2(std::uint32_t n) { return n == 1 ? 0 : 32 - leading_zeros(n - 1); }

/// Returns the bytes from the stream's base to a row of the pool.
CANOPY_HD inline std::uint64_t row_offset(const KVStream& stream, std::uint32_t segment_shift, std::uint32_t layer,
                                          std::uint32_t page, std::uint32_t token) {
  const std::uint32_t in_segment = page & ((std::uint32_t{1} << segment_shift) - 1);
  return std::uint64_t{page >> segment_shift} * stream.segment_stride + std::uint64_t{layer} * stream.layer_stride +
         std::uint64_t{in_segment} * stream.page_stride + std::uint64_t{token} * stream.token_stride;
}

/// Returns log2 of the lanes that share `vectors` adjacent vectors, each lane taking `each` (1 or 4) at a time: 8 to 32
/// lanes, the most that leaves no lane idle at the end, or fewer if there are not enough vectors. Eight lanes of 16
/// bytes are a whole cache line.
CANOPY_HD inline std::uint32_t lane_shift(std::uint64_t vectors, std::uint32_t each) {
  if (vectors < 8) return ceil_log2(static_cast<std::uint32_t>(vectors));
  if (vectors % (32 * each) == 0) return 5;
  return vectors % (16 * each) == 0 ? 4 : 3;
}

/// The threads of a grid in groups of 2^lane_shift. Threads beyond the last whole group have group >= groups.
struct Team {
  std::uint32_t lane_shift, lane, group, groups;
};
CANOPY_HD inline Team team_of(std::uint32_t lane_shift, std::uint32_t block, std::uint32_t blocks, const Place& place) {
  const std::uint32_t all = blocks * place.threads, self = block * place.threads + place.thread;
  const std::uint32_t shift = least(lane_shift, floor_log2(all));
  return {shift, self & ((std::uint32_t{1} << shift) - 1), self >> shift, all >> shift};
}

template <std::uint32_t kWidth, bool kScatter>
CANOPY_HD inline void rows_thread(const RowsJob& job, const Place& place) {
  if (job.count == 0) return;
  for (std::uint32_t s = place.y; s < job.pool.streams; s += place.ys) {
    const KVStream& stream = job.pool.stream[s];
    const std::uint32_t vectors = stream.row_bytes / kWidth;
    const Team team = team_of(lane_shift(vectors, 1), place.x, place.xs, place);
    // A grid with more groups than rows splits each row among several groups: a decode step has few rows and waits for
    // them.
    const std::uint32_t groups_log2 = floor_log2(team.groups), rows_log2 = ceil_log2(job.count);
    const std::uint32_t pieces = ((vectors - 1) >> team.lane_shift) + 1;
    const std::uint32_t split_shift = groups_log2 > rows_log2 ? least(groups_log2 - rows_log2, ceil_log2(pieces)) : 0;
    const std::uint32_t split = team.group & ((std::uint32_t{1} << split_shift) - 1);
    const std::uint64_t rows_at_once = team.groups >> split_shift;
    if ((team.group >> split_shift) >= rows_at_once) continue;
    const std::uint64_t start = ((std::uint64_t{split} << team.lane_shift) + team.lane) * kWidth;
    const std::uint64_t step = std::uint64_t{kWidth} << (team.lane_shift + split_shift);

    for (std::uint64_t row = team.group >> split_shift; row < job.count; row += 4 * rows_at_once) {
      std::byte* in_pool[4];
      for (std::uint32_t i = 0; i < 4; ++i) {
        in_pool[i] = nullptr;
        if (row + i * rows_at_once >= job.count) continue;
        const std::uint64_t token = job.first + (row + i * rows_at_once), index = token >> job.pool.page_shift;
        const std::uint32_t page = job.pages ? load_index(job.pages + index) : job.inline_pages[index];
        if (page == kSkipPage) continue;
        const std::uint32_t in_page =
            static_cast<std::uint32_t>(token) & ((std::uint32_t{1} << job.pool.page_shift) - 1);
        in_pool[i] = stream.base + row_offset(stream, job.pool.segment_shift, job.layer, page, in_page);
      }
      std::byte* const packed = job.rows[s] + row * stream.row_bytes;
      const std::uint64_t apart = rows_at_once * stream.row_bytes;
      for (std::uint64_t at = start; at < stream.row_bytes; at += step) {
        Vector<kWidth> value[4];
        for (std::uint32_t i = 0; i < 4; ++i)
          if (in_pool[i]) load(value[i], (kScatter ? packed + i * apart : in_pool[i]) + at);
        for (std::uint32_t i = 0; i < 4; ++i)
          if (in_pool[i]) store((kScatter ? in_pool[i] : packed + i * apart) + at, value[i]);
      }
    }
  }
}

/// The layout of a stream's bytes of one page and one layer: one run if tokens have no gaps between them, else one run
/// of one row per token. A group moves one chunk of a run at a time, four vectors per lane.
struct Runs {
  std::uint64_t bytes;             ///< bytes of a run
  std::uint32_t log2, lane_shift;  ///< log2 of the runs per page and layer; log2 of the lanes that share a chunk
};
template <std::uint32_t kWidth>
CANOPY_HD inline Runs runs_of(const KVStream& stream, std::uint32_t page_shift) {
  const bool packed = stream.token_stride == stream.row_bytes;
  const std::uint64_t bytes = std::uint64_t{stream.row_bytes} << (packed ? page_shift : 0);
  return {bytes, packed ? 0 : page_shift, lane_shift(bytes / kWidth, 4)};
}
template <std::uint32_t kWidth>
CANOPY_HD inline std::uint32_t chunks_of(std::uint64_t run_bytes, std::uint32_t lane_shift) {
  constexpr std::uint32_t kWidthLog2 = kWidth == 16 ? 4 : kWidth == 4 ? 2 : 0;
  return static_cast<std::uint32_t>(((run_bytes - 1) >> (kWidthLog2 + 2 + lane_shift)) + 1);
}

/// The coordinates of a chunk; the page changes slowest. Adding with carry avoids divisions in the loop, and the number
/// of all chunks may exceed 2^32.
struct Chunk {
  std::uint32_t chunk, token, layer;
  std::uint64_t page;  ///< position in the list
};
CANOPY_HD inline Chunk chunk_number(std::uint32_t n, std::uint32_t chunks, std::uint32_t runs_log2,
                                    std::uint32_t layers) {
  const std::uint32_t run = n / chunks, piece = run >> runs_log2;
  return {n % chunks, run & ((std::uint32_t{1} << runs_log2) - 1), piece % layers, piece / layers};
}
CANOPY_HD inline void advance(Chunk& at, const Chunk& by, std::uint32_t chunks, std::uint32_t runs_log2,
                              std::uint32_t layers) {
  const std::uint32_t runs = std::uint32_t{1} << runs_log2;
  std::uint32_t carry;
  at.chunk += by.chunk;
  carry = at.chunk >= chunks;
  at.chunk -= carry ? chunks : 0;
  at.token += by.token + carry;
  carry = at.token >= runs;
  at.token -= carry ? runs : 0;
  at.layer += by.layer + carry;
  carry = at.layer >= layers;
  at.layer -= carry ? layers : 0;
  at.page += by.page + carry;
}

/// Both ends of a run. If `from` is null, there is nothing to move.
struct Ends {
  const std::byte* from;
  std::byte* to;
};

/// Copies every run of `count` listed pages, all layers and streams, between the ends that ends_of(stream, position in
/// the list, layer, token) returns.
template <std::uint32_t kWidth, class EndsOf>
CANOPY_HD inline void move_runs(const Pool& pool, std::uint32_t count, const Place& place, const EndsOf& ends_of) {
  for (std::uint32_t s = 0; s < pool.streams; ++s) {
    const Runs runs = runs_of<kWidth>(pool.stream[s], pool.page_shift);
    const Team team = team_of(runs.lane_shift, place.y * place.xs + place.x, place.xs * place.ys, place);
    if (team.group >= team.groups) continue;
    const std::uint32_t chunks = chunks_of<kWidth>(runs.bytes, team.lane_shift);
    const Chunk by = chunk_number(team.groups, chunks, runs.log2, pool.layers);
    for (Chunk at = chunk_number(team.group, chunks, runs.log2, pool.layers); at.page < count;
         advance(at, by, chunks, runs.log2, pool.layers)) {
      const Ends ends = ends_of(s, at.page, at.layer, at.token);
      if (!ends.from) continue;
      const std::uint64_t apart = std::uint64_t{kWidth} << team.lane_shift;
      const std::uint64_t start = at.chunk * 4 * apart + std::uint64_t{team.lane} * kWidth;
      Vector<kWidth> value[4];
      for (std::uint32_t i = 0; i < 4; ++i)
        if (start + i * apart < runs.bytes) load(value[i], ends.from + start + i * apart);
      for (std::uint32_t i = 0; i < 4; ++i)
        if (start + i * apart < runs.bytes) store(ends.to + start + i * apart, value[i]);
    }
  }
}

struct PageEnds {
  const PagesJob& job;
  CANOPY_HD Ends operator()(std::uint32_t s, std::uint64_t i, std::uint32_t layer, std::uint32_t token) const {
    const KVStream& stream = job.pool.stream[s];
    const std::uint32_t from = job.from ? load_index(job.from + i) : job.inline_from[i];
    const std::uint32_t to = job.to ? load_index(job.to + i) : job.inline_to[i];
    if (from == kSkipPage || to == kSkipPage) return {nullptr, nullptr};
    return {stream.base + row_offset(stream, job.pool.segment_shift, layer, from, token),
            stream.base + row_offset(stream, job.pool.segment_shift, layer, to, token)};
  }
};

/// Returns the bytes of an image before a stream; with stream == streams, the bytes of the whole image.
CANOPY_HD inline std::uint64_t image_offset(const Pool& pool, std::uint32_t stream) {
  std::uint64_t bytes = 0;
  for (std::uint32_t s = 0; s < stream; ++s)
    bytes += (std::uint64_t{pool.stream[s].row_bytes} << pool.page_shift) * pool.layers;
  return bytes;
}

template <bool kScatter>
struct ImageEnds {
  const ImageJob& job;
  CANOPY_HD Ends operator()(std::uint32_t s, std::uint64_t i, std::uint32_t layer, std::uint32_t token) const {
    const KVStream& stream = job.pool.stream[s];
    const std::uint32_t page = job.pages ? load_index(job.pages + i) : job.inline_pages[i];
    if (page == kSkipPage) return {nullptr, nullptr};
    std::byte* const in_pool = stream.base + row_offset(stream, job.pool.segment_shift, layer, page, token);
    std::byte* const in_image = job.images + i * job.image_stride + image_offset(job.pool, s) +
                                ((std::uint64_t{layer} << job.pool.page_shift) + token) * stream.row_bytes;
    return kScatter ? Ends{in_image, in_pool} : Ends{in_pool, in_image};
  }
};

template <std::uint32_t kWidth>
CANOPY_HD inline void rows_scatter(const RowsJob& job, const Place& place) {
  rows_thread<kWidth, true>(job, place);
}
template <std::uint32_t kWidth>
CANOPY_HD inline void rows_gather(const RowsJob& job, const Place& place) {
  rows_thread<kWidth, false>(job, place);
}
template <std::uint32_t kWidth>
CANOPY_HD inline void page_copy(const PagesJob& job, const Place& place) {
  move_runs<kWidth>(job.pool, job.count, place, PageEnds{job});
}
template <std::uint32_t kWidth>
CANOPY_HD inline void image_gather(const ImageJob& job, const Place& place) {
  move_runs<kWidth>(job.pool, job.count, place, ImageEnds<false>{job});
}
template <std::uint32_t kWidth>
CANOPY_HD inline void image_scatter(const ImageJob& job, const Place& place) {
  move_runs<kWidth>(job.pool, job.count, place, ImageEnds<true>{job});
}

/// All kernels: X(name, job, width in bytes). The symbol in the image is name_width.
#define CANOPY_KERNELS_OF(X, name, Job) X(name, Job, 16) X(name, Job, 4) X(name, Job, 1)
#define CANOPY_KERNELS(X)                      \
  CANOPY_KERNELS_OF(X, rows_scatter, RowsJob)  \
  CANOPY_KERNELS_OF(X, rows_gather, RowsJob)   \
  CANOPY_KERNELS_OF(X, page_copy, PagesJob)    \
  CANOPY_KERNELS_OF(X, image_gather, ImageJob) \
  CANOPY_KERNELS_OF(X, image_scatter, ImageJob)

}  // namespace canopy::cuda
