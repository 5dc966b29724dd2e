#include <conformance/model/effort.h>
#include <cuda/kernels_twin.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "pool_model.h"

using namespace canopy;
using namespace canopy::cuda;
using namespace cuda_test;
using test::with_effort;

namespace {

using Pages = std::vector<std::uint32_t>;

template <std::size_t kCount>
std::uint32_t one_of(Random& prng, const std::uint32_t (&values)[kCount]) {
  return values[prng.below(kCount)];
}

/// Half of the shapes allow 16 bytes at a time, a quarter 4, the rest is as crooked as it gets.
Shape random_shape(Random& prng) {
  const std::uint32_t unit = one_of(prng, {16, 16, 4, 1});
  Shape shape;
  const std::uint32_t streams = 1 + prng.below(4);
  for (std::uint32_t s = 0; s < streams; ++s) {
    shape.row_bytes.push_back(unit == 16  ? one_of(prng, {16, 48, 128, 256, 512, 656, 1152, 2048})
                              : unit == 4 ? one_of(prng, {4, 12, 36, 132, 656, 1152})
                                          : one_of(prng, {1, 2, 7, 12, 33, 132, 257}));
    shape.token_padding.push_back(prng.one_in(2) ? 0 : unit * (1 + prng.below(4)));
  }
  shape.page_size = one_of(prng, {1, 4, 16, 64});
  shape.segment_pages = one_of(prng, {1, 2, 4, 8, 64});
  shape.layers = 1 + prng.below(5);
  shape.segments = 1 + prng.below(4);
  shape.stride_padding = prng.one_in(2) ? 0 : unit * prng.below(8);
  shape.skew = unit * prng.below(3);
  const std::uint32_t row = std::accumulate(shape.row_bytes.begin(), shape.row_bytes.end(), std::uint32_t{0});
  const auto bytes = [&] { return row * shape.page_size * shape.segment_pages * shape.layers * shape.segments; };
  while (bytes() > 400'000 && shape.segments > 1) --shape.segments;
  while (bytes() > 400'000 && shape.segment_pages > 1) shape.segment_pages /= 2;
  return shape;
}

/// Distinct pages in random order.
Pages random_pages(Random& prng, std::uint32_t of, std::size_t count) {
  Pages pages(of);
  std::iota(pages.begin(), pages.end(), 0U);
  for (std::uint32_t i = of; i > 1; --i) std::swap(pages[i - 1], pages[prng.below(i)]);
  pages.resize(count);
  return pages;
}
void skip_some(Random& prng, Pages& pages) {
  for (std::uint32_t& page : pages)
    if (prng.one_in(6)) page = kSkipPage;
}

/// Gives a list to a job, inside it or by address: then exactly as long as it is, and nothing inside.
template <std::size_t kCount>
std::unique_ptr<std::uint32_t[]> give(const Pages& pages, bool by_address, const std::uint32_t*& address,
                                      std::uint32_t (&inside)[kCount]) {
  std::fill(std::begin(inside), std::end(inside), 0xDEADBEEFU);
  address = nullptr;
  if (!by_address && pages.size() <= kCount) {
    std::copy(pages.begin(), pages.end(), inside);
    return nullptr;
  }
  std::unique_ptr<std::uint32_t[]> list(new std::uint32_t[pages.size()]);
  std::copy(pages.begin(), pages.end(), list.get());
  address = list.get();
  return list;
}

const Twin& twin(Kernel kernel, std::uint32_t width) {
  const std::string name = kernel_name(kernel, width);
  const auto found = std::find_if(std::begin(kTwins), std::end(kTwins), [&](const Twin& t) { return name == t.name; });
  REQUIRE(found != std::end(kTwins));
  return *found;
}

struct Launch {
  std::uint32_t x, y, threads;
};

/// Runs of each width.
struct Reached {
  std::uint64_t wide = 0, four = 0, single = 0;
  std::uint64_t& at(std::uint32_t width) { return width == 16 ? wide : width == 4 ? four : single; }
};

/// Runs the kernel in every width that the job allows and in several grids, each time from the same bytes, and compares
/// every byte of every block, touched or not, with what is expected.
template <class Job>
void check(Kernel kernel, const Job& job, Grid grid, Random& prng, const std::vector<Block*>& blocks,
           const std::vector<Bytes>& expected, Reached& reached) {
  std::vector<Bytes> before;
  for (Block* block : blocks) before.push_back(block->copy());
  const Launch launches[] = {{grid.x, grid.y, kThreads},
                             {1, 1, kThreads},
                             {1 + prng.below(9), 1 + prng.below(5), kThreads},
                             {1 + prng.below(3), 1 + prng.below(3), 1 + prng.below(100)}};
  for (const std::uint32_t width_now : {16U, 4U, 1U}) {
    if (width_now > width(job)) continue;
    const Twin& kernel_twin = twin(kernel, width_now);
    REQUIRE(kernel_twin.job_bytes == sizeof(Job));
    for (const Launch& launch : launches) {
      for (std::size_t b = 0; b < blocks.size(); ++b) blocks[b]->assign(before[b]);
      kernel_twin.run(&job, launch.x, launch.y, launch.threads);
      ++reached.at(width_now);
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        INFO(kernel_twin.name << " in a grid of " << launch.x << " x " << launch.y << " blocks of " << launch.threads);
        CHECK(blocks[b]->copy() == expected[b]);
      }
    }
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) blocks[b]->assign(before[b]);
}

void all_widths(const Reached& reached) {
  if (test::effort() < 1) return;
  CHECK(reached.wide > 0);
  CHECK(reached.four > 0);
  CHECK(reached.single > 0);
}

void put(Bytes& to, std::size_t at, const Bytes& from, std::size_t from_at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.at(at + i) = from.at(from_at + i);
}

/// The pool's blocks first, then others; by index in `all`.
std::vector<Block*> blocks_of(PoolModel& model, std::vector<Block>& others) {
  std::vector<Block*> all;
  for (std::uint32_t s = 0; s < model.view().streams; ++s) all.push_back(&model.stream(s));
  for (Block& block : others) all.push_back(&block);
  return all;
}
std::vector<Bytes> copies(const std::vector<Block*>& blocks) {
  std::vector<Bytes> all;
  for (const Block* block : blocks) all.push_back(block->copy());
  return all;
}

std::uint32_t random_count(Random& prng, std::uint32_t most) {
  const std::uint32_t which = prng.below(8);
  return which == 0 ? 0 : which == 1 ? std::min(1U, most) : which == 2 ? most : prng.below(most + 1);
}

}  // namespace

TEST_CASE("the rows kernels move the listed rows and nothing else") {
  Random prng(11);
  Reached reached;
  for (std::uint64_t round = 0; round < with_effort(150); ++round) {
    PoolModel model(random_shape(prng), prng);
    const Shape& shape = model.shape();
    const std::uint32_t streams = model.view().streams, tokens = model.pages() * shape.page_size;
    RowsJob job{};
    job.pool = pool_of(model.view());
    job.layer = prng.below(shape.layers);
    job.first = prng.below(std::min(tokens, 2 * shape.page_size + 1));
    job.count = random_count(prng, std::min(tokens - job.first, 300U));
    const bool scatter = prng.one_in(2);
    Pages pages = random_pages(prng, model.pages(), (job.first + job.count + shape.page_size - 1) / shape.page_size);
    if (!scatter && pages.size() > 1) pages.back() = pages.front();
    skip_some(prng, pages);
    const auto list = give(pages, prng.one_in(2), job.pages, job.inline_pages);
    std::vector<Block> others;
    const std::uint32_t skew = prng.one_in(3) ? 1 + prng.below(15) : 0;
    for (std::uint32_t s = 0; s < streams; ++s) {
      others.emplace_back(std::size_t{job.count} * shape.row_bytes[s], skew);
      PoolModel::fill(others.back(), prng);
      job.rows[s] = others.back().data();
    }
    const std::vector<Block*> blocks = blocks_of(model, others);
    std::vector<Bytes> expected = copies(blocks);
    for (std::uint32_t s = 0; s < streams; ++s)
      for (std::uint32_t r = 0; r < job.count; ++r) {
        const std::uint32_t page = pages[(job.first + r) / shape.page_size];
        if (page == kSkipPage) continue;
        const std::size_t in_pool = model.row(s, job.layer, page, (job.first + r) % shape.page_size);
        const std::size_t packed = others[s].skew() + std::size_t{r} * shape.row_bytes[s];
        if (scatter) put(expected[s], in_pool, expected[streams + s], packed, shape.row_bytes[s]);
        else put(expected[streams + s], packed, expected[s], in_pool, shape.row_bytes[s]);
      }
    const Kernel kernel = scatter ? Kernel::rows_scatter : Kernel::rows_gather;
    check(kernel, job, rows_grid(job, width(job), 1 + prng.below(4)), prng, blocks, expected, reached);
  }
  all_widths(reached);
}

TEST_CASE("page_copy copies rows of all layers and streams and no padding") {
  Random prng(12);
  Reached reached;
  for (std::uint64_t round = 0; round < with_effort(100); ++round) {
    PoolModel model(random_shape(prng), prng);
    const Shape& shape = model.shape();
    const std::uint32_t streams = model.view().streams;
    PagesJob job{};
    job.pool = pool_of(model.view());
    job.count = random_count(prng, std::min(model.pages() / 2, 60U));
    const Pages both = random_pages(prng, model.pages(), 2 * std::size_t{job.count});
    Pages from(both.begin(), both.begin() + job.count), to(both.begin() + job.count, both.end());
    skip_some(prng, from);
    skip_some(prng, to);
    const auto from_list = give(from, prng.one_in(2), job.from, job.inline_from);
    const auto to_list = give(to, prng.one_in(2), job.to, job.inline_to);
    std::vector<Block> others;
    const std::vector<Block*> blocks = blocks_of(model, others);
    const std::vector<Bytes> before = copies(blocks);
    std::vector<Bytes> expected = before;
    for (std::uint32_t i = 0; i < job.count; ++i)
      if (from[i] != kSkipPage && to[i] != kSkipPage)
        for (std::uint32_t s = 0; s < streams; ++s)
          for (std::uint32_t layer = 0; layer < shape.layers; ++layer)
            for (std::uint32_t token = 0; token < shape.page_size; ++token)
              put(expected[s], model.row(s, layer, to[i], token), before[s], model.row(s, layer, from[i], token),
                  shape.row_bytes[s]);
    check(Kernel::page_copy, job, pages_grid(job.pool, job.count, width(job), 1 + prng.below(4)), prng, blocks,
          expected, reached);
  }
  all_widths(reached);
}

TEST_CASE("the image kernels pack and unpack pages in the order stream layer token row") {
  Random prng(13);
  Reached reached;
  for (std::uint64_t round = 0; round < with_effort(100); ++round) {
    PoolModel model(random_shape(prng), prng);
    const Shape& shape = model.shape();
    const std::uint32_t streams = model.view().streams;
    ImageJob job{};
    job.pool = pool_of(model.view());
    job.count = random_count(prng, std::min(model.pages(), 40U));
    job.image_stride = image_stride(job.pool);
    const bool scatter = prng.one_in(2);
    Pages pages = random_pages(prng, model.pages(), job.count);
    if (!scatter && pages.size() > 1) pages.back() = pages.front();
    skip_some(prng, pages);
    const auto list = give(pages, prng.one_in(2), job.pages, job.inline_pages);
    std::vector<Block> others;
    // The last image ends with its last row.
    const std::size_t bytes = job.count == 0 ? 0 : (job.count - 1) * job.image_stride + image_bytes(job.pool);
    others.emplace_back(bytes, prng.one_in(4) ? 1 + prng.below(15) : 0);
    PoolModel::fill(others.back(), prng);
    job.images = others.back().data();
    const std::vector<Block*> blocks = blocks_of(model, others);
    std::vector<Bytes> expected = copies(blocks);
    for (std::uint32_t i = 0; i < job.count; ++i) {
      if (pages[i] == kSkipPage) continue;
      std::size_t in_image = others[0].skew() + i * job.image_stride;
      for (std::uint32_t s = 0; s < streams; ++s)
        for (std::uint32_t layer = 0; layer < shape.layers; ++layer)
          for (std::uint32_t token = 0; token < shape.page_size; ++token, in_image += shape.row_bytes[s]) {
            const std::size_t in_pool = model.row(s, layer, pages[i], token);
            if (scatter) put(expected[s], in_pool, expected[streams], in_image, shape.row_bytes[s]);
            else put(expected[streams], in_image, expected[s], in_pool, shape.row_bytes[s]);
          }
    }
    const Kernel kernel = scatter ? Kernel::image_scatter : Kernel::image_gather;
    check(kernel, job, pages_grid(job.pool, job.count, width(job), 1 + prng.below(4)), prng, blocks, expected, reached);
  }
  all_widths(reached);
}

TEST_CASE("one long row is shared by the groups of a whole grid") {
  Random prng(14);
  Shape shape;
  shape.row_bytes = {100 * 1024};
  shape.token_padding = {0};
  shape.segments = 2;
  PoolModel model(shape, prng);
  RowsJob job{};
  job.pool = pool_of(model.view());
  job.count = 1;
  job.inline_pages[0] = 1;
  std::vector<Block> others;
  others.emplace_back(shape.row_bytes[0], 0);
  PoolModel::fill(others[0], prng);
  job.rows[0] = others[0].data();
  const Grid grid = rows_grid(job, 16, 132);
  CHECK(grid.x == 25);  // 6400 vectors by 256 threads
  const std::vector<Block*> blocks = blocks_of(model, others);
  std::vector<Bytes> expected = copies(blocks);
  put(expected[0], model.row(0, 0, 1, 0), expected[1], 0, shape.row_bytes[0]);
  Reached reached;
  check(Kernel::rows_scatter, job, grid, prng, blocks, expected, reached);
  // The first block moves only its share. A power of two of groups share a row, so that a thread has up to two
  // vectors of it.
  const Bytes before = model.stream(0).copy();
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    rows_scatter<16>(job, {0, grid.x, 0, 1, thread, kThreads});
  const Bytes after = model.stream(0).copy();
  std::size_t written = 0;
  for (std::size_t i = 0; i < after.size(); ++i) written += before[i] != after[i];
  CHECK(written > 0);
  CHECK(written <= kThreads * 2 * 16);
}
