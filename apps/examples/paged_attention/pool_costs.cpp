#include "pool_costs.h"

#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>

#include "processor.h"

namespace canopy::examples {
namespace {

constexpr std::uint32_t kHeadDim = 128;  // elements of one KV head in fp32: a row has 512 bytes
constexpr std::uint32_t kRow = kHeadDim * sizeof(float);
constexpr std::uint32_t kRequests = 8;  // together 128 MiB of K and V: more than a CPU cache holds
constexpr std::uint32_t kSegmentTokens = 8192;

/// Returns the processor time of this thread, so that other programs on the machine do not count.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// A separate memory mapping, so that a copy pays for its page faults as a new pool would. Uses pages of 2 MiB if the
/// system has them, as on a GPU.
class Block {
 public:
  explicit Block(std::uint64_t bytes) : bytes_(bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw ExampleError("not enough memory for the measurement");
    at_ = static_cast<std::byte*>(at);
    ::madvise(at, bytes, MADV_HUGEPAGE);
  }
  ~Block() { ::munmap(at_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::byte* data() const { return at_; }

 private:
  std::byte* at_;
  std::uint64_t bytes_;
};

using Eight = float __attribute__((vector_size(32)));

/// Computes softmax attention of one query over `tokens` tokens in one pass. key(t) and value(t) find the rows.
template <class Find>
float attend(std::uint32_t tokens, const Find& find) {
  constexpr std::size_t kParts = kHeadDim / 8;
  Eight sums[kParts] = {};
  float largest = -INFINITY, weights = 0;
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const std::byte* const key = find(token);
    Eight dot = {};
    for (std::size_t i = 0; i < kParts; ++i) {
      Eight part;
      std::memcpy(&part, key + i * sizeof(part), sizeof(part));
      dot += part * 0.01F;
    }
    float score = 0;
    for (int i = 0; i < 8; ++i) score += dot[i];
    if (score > largest) {
      const float kept = std::exp(largest - score);
      for (Eight& sum : sums) sum *= kept;
      weights *= kept;
      largest = score;
    }
    const float weight = std::exp(score - largest);
    weights += weight;
    for (std::size_t i = 0; i < kParts; ++i) {
      Eight part;
      std::memcpy(&part, key + kRow + i * sizeof(part), sizeof(part));
      sums[i] += part * weight;
    }
  }
  return sums[0][0] / weights;
}

/// The rows of kRequests requests, in pages that lie in the pool in random order. K and V of a token are neighbours.
struct Pool {
  explicit Pool(std::uint32_t page_tokens)
      : page_size(page_tokens), tokens(kRequests * kReadTokens), rows(std::uint64_t{tokens} * 2 * kRow) {
    pages.resize(tokens / page_size);
    for (Page i = 0; i < pages.size(); ++i) pages[i] = i;
    std::mt19937 random(1);
    std::shuffle(pages.begin(), pages.end(), random);
    auto* const numbers = reinterpret_cast<float*>(rows.data());
    for (std::uint64_t i = 0; i < std::uint64_t{tokens} * 2 * kHeadDim; ++i)
      numbers[i] = static_cast<float>(random() >> 8) * 0x1p-24F;
  }
  std::uint32_t page_size, tokens;
  Block rows;
  std::vector<Page> pages;  ///< request r has pages[r * kReadTokens / page_size] and those behind it
};

std::vector<ReadCost> read_costs(std::uint32_t page_size, std::uint32_t turns) {
  constexpr std::uint64_t kToken = 2 * kRow;
  const Pool pool(page_size);
  const std::uint64_t page_bytes = page_size * kToken;
  const std::uint32_t row_pages = kReadTokens / page_size, segment_pages = kSegmentTokens / page_size;
  const std::byte* const base = pool.rows.data();
  const auto pages_of = [&](std::uint32_t request) { return pool.pages.data() + std::uint64_t{request} * row_pages; };

  // The same rows, in the order of their tokens.
  const Block whole(std::uint64_t{pool.tokens} * kToken);
  for (std::size_t i = 0; i < pool.pages.size(); ++i)
    std::memcpy(whole.data() + i * page_bytes, base + pool.pages[i] * page_bytes, page_bytes);
  // Segments, wherever the system has placed them.
  std::vector<std::unique_ptr<Block>> segments;
  std::vector<const std::byte*> segment_bases;
  for (std::uint32_t s = 0; s < pool.tokens / kSegmentTokens; ++s) {
    segments.push_back(std::make_unique<Block>(kSegmentTokens * kToken));
    std::memcpy(segments.back()->data(), base + s * kSegmentTokens * kToken, kSegmentTokens * kToken);
    segment_bases.push_back(segments.back()->data());
  }
  // Logical pages, which a table maps to the pages of the pool.
  std::vector<Page> logical(pool.pages.size()), to_physical(pool.pages.size());
  std::mt19937 random(2);
  for (Page i = 0; i < logical.size(); ++i) logical[i] = i;
  std::shuffle(logical.begin(), logical.end(), random);
  for (std::size_t i = 0; i < logical.size(); ++i) to_physical[logical[i]] = pool.pages[i];

  struct Way {
    const char* name;
    std::function<float(std::uint32_t request)> run;
    std::vector<double> seconds{}, ratios{};
  };
  Way ways[] = {
      {"one pool: page x stride",
       [&](std::uint32_t request) {
         const Page* const pages = pages_of(request);
         return attend(kReadTokens, [=](std::uint32_t t) {
           return base + pages[t / page_size] * page_bytes + t % page_size * kToken;
         });
       }},
      {"in one piece, no pages",
       [&](std::uint32_t request) {
         const std::byte* const first = whole.data() + std::uint64_t{request} * kReadTokens * kToken;
         return attend(kReadTokens, [=](std::uint32_t t) { return first + t * kToken; });
       }},
      {"segments at fixed distances: division",
       [&](std::uint32_t request) {
         const Page* const pages = pages_of(request);
         const std::uint64_t segment_stride = segment_pages * page_bytes;
         return attend(kReadTokens, [=](std::uint32_t t) {
           const Page page = pages[t / page_size];
           return base + page / segment_pages * segment_stride + page % segment_pages * page_bytes +
                  t % page_size * kToken;
         });
       }},
      {"segments anywhere: division and a table",
       [&](std::uint32_t request) {
         const Page* const pages = pages_of(request);
         const std::byte* const* const bases = segment_bases.data();
         return attend(kReadTokens, [=](std::uint32_t t) {
           const Page page = pages[t / page_size];
           return bases[page / segment_pages] + page % segment_pages * page_bytes + t % page_size * kToken;
         });
       }},
      {"indirection: logical to physical page",
       [&](std::uint32_t request) {
         const Page* const pages = logical.data() + std::uint64_t{request} * row_pages;
         const Page* const table = to_physical.data();
         return attend(kReadTokens, [=](std::uint32_t t) {
           return base + table[pages[t / page_size]] * page_bytes + t % page_size * kToken;
         });
       }},
  };
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    float expected = 0;
    for (Way& way : ways) {
      // Uses another request for each way and turn, so that data that the previous way has read is not in the CPU
      // caches.
      const auto place = static_cast<std::uint32_t>(&way - ways);
      const double begun = now();
      way.run((turn + place) % kRequests);
      way.seconds.push_back(now() - begun);
      way.ratios.push_back(way.seconds.back() / ways[0].seconds[turn]);
      const float sum = way.run(turn % kRequests);
      if (place == 0) expected = sum;
      if (sum != expected)
        throw ExampleError(fmt::format("'{}' read different rows from '{}'", way.name, ways[0].name));
    }
  }
  std::vector<ReadCost> costs;
  for (const Way& way : ways) costs.push_back({way.name, page_size, median(way.seconds), median(way.ratios)});
  return costs;
}

}  // namespace

std::vector<ReadCost> read_costs(std::uint32_t turns) {
  std::vector<ReadCost> costs;
  for (const std::uint32_t page_size : {1U, 16U})
    for (ReadCost& cost : read_costs(page_size, turns)) costs.push_back(std::move(cost));
  return costs;
}

std::vector<GrowthCost> growth_costs(const Registry& registry, std::uint64_t bytes, std::uint32_t turns) {
  constexpr std::uint64_t kSegment = std::uint64_t{64} << 20;  // 4,096 pages of 16 tokens of 1,024 bytes
  std::vector<double> copying, mapping, one;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    {
      auto before = std::make_unique<Block>(bytes);
      std::memset(before->data(), 1, bytes);
      const double begun = now();
      const Block after(2 * bytes);
      std::memcpy(after.data(), before->data(), bytes);
      before.reset();
      copying.push_back(now() - begun);
    }
    const auto document = parse_yaml(
        "page_size: 16\n"
        "groups: { full: { reach: path, capacity: unlimited, allocator: segments, eviction: lru } }\n"
        "segment_pages: 4096\n"
        "store: { host: { layers: 1, streams: { k: 512, v: 512 } } }\n",
        "the measurement's engine");
    const auto config = read_engine_config(*document, registry);
    if (!config) throw ExampleError(config.error().text);
    const auto engine = Engine::create(*config, registry);
    if (!engine) throw ExampleError(engine.error().text);
    KVStore& store = *(*engine)->store(0);
    const double begun = now();
    for (std::uint32_t segment = 1; segment <= bytes / kSegment; ++segment)
      if (!store.back(segment)) throw ExampleError("not enough memory for the measurement");
    mapping.push_back(now() - begun);
    one.push_back(mapping.back() / static_cast<double>(bytes / kSegment));
  }
  return {{"copy into a larger block", bytes, median(copying), 3 * bytes},
          {"map all new segments", bytes, median(mapping), 2 * bytes},
          {"map one segment of 64 MiB, as the pool needs it", bytes, median(one), bytes + kSegment}};
}

}  // namespace canopy::examples
