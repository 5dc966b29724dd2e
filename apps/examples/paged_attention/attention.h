#pragma once
/// Attention of one new token over the pages of its request, as a kernel of an engine would compute it: of Canopy it
/// uses only KVView and a list of page numbers. Written to be read: each thread walks over all tokens by itself, so the
/// scores are computed once for every element of a head. Fast kernels share them.
///
/// No thread waits for another or shares memory with it, so a loop over threads on the CPU runs the kernel itself, and
/// any number of threads gives the same bits.

#include <canopy/kv_view.h>

#include <cmath>
#include <cstring>

#ifdef __CUDACC__
#define ATTENTION_HD __host__ __device__
#else
#define ATTENTION_HD
#endif

namespace canopy::examples {

enum class Element : std::uint32_t { fp32, bf16 };
ATTENTION_HD inline std::uint32_t bytes_of(Element element) { return element == Element::fp32 ? 4 : 2; }

/// The only parameter of the kernel. A row of K or V holds [KV head][element]; queries and output [query
/// head][element]. REQUIRES: tokens > 0, kv_heads divides query_heads, and every page with a token has memory.
struct AttentionJob {
  KVView view;
  const Page* pages;  ///< token t is in pages[t / page_size]
  const float* query;
  float* output;
  std::uint32_t k, v;  ///< stream numbers of K and V
  std::uint32_t layer, tokens;
  std::uint32_t query_heads, kv_heads, head_dim;
  Element element;
  float scale;  ///< factor of the scores
};

inline constexpr const char* kAttentionKernel = "paged_attention";
inline constexpr std::uint32_t kAttentionThreads = 128;  ///< threads per block

/// Returns the address of a row: KVView's formula, repeated for the device.
ATTENTION_HD inline const std::byte* row_of(const AttentionJob& job, std::uint32_t stream, std::uint32_t token) {
  const KVView& view = job.view;
  const KVStream& in = view.stream[stream];
  const Page page = job.pages[token / view.page_size];
  return in.base + page / view.segment_pages * in.segment_stride + job.layer * in.layer_stride +
         page % view.segment_pages * in.page_stride + std::uint64_t{token % view.page_size} * in.token_stride;
}

/// Returns element i of a row as a float.
ATTENTION_HD inline float number_at(const std::byte* row, std::uint32_t i, Element element) {
  std::uint32_t bits = 0;
  if (element == Element::fp32) {
    std::memcpy(&bits, __builtin_assume_aligned(row + std::uint64_t{i} * 4, 4), 4);
  } else {
    std::uint16_t upper = 0;  // a bf16 is the upper half of an fp32
    std::memcpy(&upper, __builtin_assume_aligned(row + std::uint64_t{i} * 2, 2), 2);
    bits = std::uint32_t{upper} << 16;
  }
  float number = 0;
  std::memcpy(&number, &bits, 4);
  return number;
}

/// Computes the elements of the output that belong to thread `thread` of `threads`.
ATTENTION_HD inline void attention_thread(const AttentionJob& job, std::uint32_t thread, std::uint32_t threads) {
  for (std::uint32_t i = thread; i < job.query_heads * job.head_dim; i += threads) {
    const std::uint32_t head = i / job.head_dim, element = i % job.head_dim;
    const std::uint32_t kv_start = head / (job.query_heads / job.kv_heads) * job.head_dim;
    const float* const query = job.query + head * job.head_dim;
    // Computes softmax in one pass: the sums under a smaller maximum are scaled down when a larger one comes.
    float largest = -INFINITY, weights = 0, sum = 0;
    for (std::uint32_t token = 0; token < job.tokens; ++token) {
      const std::byte* const key = row_of(job, job.k, token);
      float score = 0;
      for (std::uint32_t d = 0; d < job.head_dim; ++d) score += query[d] * number_at(key, kv_start + d, job.element);
      score *= job.scale;
      const float next = score > largest ? score : largest;
      const float kept = expf(largest - next), weight = expf(score - next);
      weights = weights * kept + weight;
      sum = sum * kept + weight * number_at(row_of(job, job.v, token), kv_start + element, job.element);
      largest = next;
    }
    job.output[i] = sum / weights;
  }
}

}  // namespace canopy::examples
