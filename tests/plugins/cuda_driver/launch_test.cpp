#include <cuda/kernels_image.h>
#include <cuda/kernels_launch.h>
#include <cuda/kernels_twin.h>
#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace canopy;
using namespace canopy::cuda;

namespace {

/// Returns an address with nothing behind it: only its number is used.
std::byte* address(std::uint64_t at) { return std::bit_cast<std::byte*>(at); }

KVView llama() {
  KVView view{};
  view.streams = 2;
  view.layers = 32;
  view.page_size = 16;
  view.segment_pages = 64;
  for (std::uint32_t s = 0; s < 2; ++s)
    view.stream[s] = {address((s + 1) * 0x10'0000'0000), 64U << 20, 2U << 20, 32U << 10, 2048, 2048};
  return view;
}

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace

TEST_CASE("addresses and numbers of chunks exceed four GiB without wrapping") {
  const KVStream stream{nullptr, 40 * kGiB, 5 * kGiB, 3 * kGiB, 3'000'000'000U, 100};
  CHECK(row_offset(stream, 6, 0, 0, 0) == 0);
  CHECK(row_offset(stream, 6, 0, 0, 3) == 9'000'000'000U);
  CHECK(row_offset(stream, 6, 79, 0, 0) == 79 * 5 * kGiB);
  CHECK(row_offset(stream, 6, 0, 63, 0) == 63 * 3 * kGiB);
  CHECK(row_offset(stream, 6, 0, 64, 0) == 40 * kGiB);
  CHECK(row_offset(stream, 6, 7, 64 * 1000 + 5, 2) == 1000 * 40 * kGiB + 7 * 5 * kGiB + 5 * 3 * kGiB + 6'000'000'000U);
  // A page number may use all of its bits but the pattern that is skipped; with one page a segment nothing is masked.
  CHECK(row_offset({nullptr, 4096, 0, 0, 0, 1}, 0, 0, 0xFFFF'FFFE, 0) == 0xFFFF'FFFEU * std::uint64_t{4096});

  ImageJob images{};
  images.pool = pool_of(llama());
  images.image_stride = 2 * kGiB;
  images.images = address(0x7000'0000'0000);
  std::uint32_t list[4000] = {};
  images.pages = list;
  const Ends ends = ImageEnds<false>{images}(1, 3999, 31, 0);
  CHECK(std::bit_cast<std::uint64_t>(ends.to) == 0x7000'0000'0000 + 3999 * 2 * kGiB + (32 + 31) * 16 * 2048);

  // 80 layers, 64 tokens and 9 chunks a row: more than 2^32 chunks from page 93207 on.
  const std::uint32_t chunks = 9, runs_log2 = 6, layers = 80;
  const std::uint64_t page_chunks = std::uint64_t{chunks} * 64 * layers;
  const std::uint32_t step = 2'000'000'011;
  const Chunk by = chunk_number(step, chunks, runs_log2, layers);
  Chunk at = chunk_number(12345, chunks, runs_log2, layers);
  for (std::uint64_t n = 12345; n < 40 * std::uint64_t{step}; n += step, advance(at, by, chunks, runs_log2, layers)) {
    CHECK(at.page == n / page_chunks);
    CHECK(at.layer == n % page_chunks / (chunks * 64));
    CHECK(at.token == n % (chunks * 64) / chunks);
    CHECK(at.chunk == n % chunks);
  }
}

TEST_CASE("one crooked address or stride narrows the access") {
  const KVView view = llama();
  RowsJob rows{};
  rows.pool = pool_of(view);
  rows.rows[0] = rows.rows[1] = address(0x1000);
  CHECK(width(rows) == 16);
  rows.rows[1] = address(0x1004);
  CHECK(width(rows) == 4);
  rows.rows[1] = address(0x1002);
  CHECK(width(rows) == 1);
  rows.rows[2] = rows.rows[3] = address(1);  // addresses of no stream
  rows.rows[1] = address(0x1000);
  CHECK(width(rows) == 16);

  for (std::uint32_t which = 0; which < 5; ++which) {
    CAPTURE(which);
    KVView crooked = view;
    KVStream& stream = crooked.stream[1];
    if (which == 0) stream.base += 4;
    if (which == 1) stream.segment_stride += 4;
    if (which == 2) stream.layer_stride += 4;
    if (which == 3) stream.page_stride += 4;
    if (which == 4) stream.token_stride += 4;
    PagesJob pages{};
    ImageJob images{};
    images.image_stride = 4096;
    rows.pool = pages.pool = images.pool = pool_of(crooked);
    CHECK(width(rows) == 4);
    CHECK(width(pages) == 4);
    CHECK(width(images) == 4);
  }
}

TEST_CASE("rows of twelve bytes without gaps are moved by sixteen where whole pages are") {
  KVView view = llama();
  view.stream[0].row_bytes = view.stream[0].token_stride = 12;
  PagesJob pages{};
  ImageJob images{};
  RowsJob rows{};
  images.image_stride = 4096;
  rows.pool = pages.pool = images.pool = pool_of(view);
  CHECK(width(pages) == 16);
  CHECK(width(images) == 16);
  CHECK(width(rows) == 4);
  view.page_size = 1;
  pages.pool = images.pool = pool_of(view);
  CHECK(width(pages) == 4);
  CHECK(width(images) == 4);
}

TEST_CASE("a stream that starts crooked inside the image narrows the access") {
  KVView view = llama();
  view.page_size = 1;
  view.layers = 1;
  view.stream[0].row_bytes = 132;  // alone: 4
  ImageJob images{};
  images.image_stride = 4096;
  images.pool = pool_of(view);
  CHECK(width(images) == 4);
  view.stream[0].row_bytes = 130;
  images.pool = pool_of(view);
  CHECK(width(images) == 1);
  images.pool = pool_of(llama());
  images.images = address(8);
  CHECK(width(images) == 4);
}

TEST_CASE("a grid is as large as its work and never larger than asked") {
  RowsJob rows{};
  rows.pool = pool_of(llama());
  CHECK(rows_grid(rows, 16, 132).x == 0);
  rows.count = 1;
  CHECK(rows_grid(rows, 16, 132).x == 1);
  CHECK(rows_grid(rows, 16, 132).y == 2);
  rows.count = 256;
  CHECK(rows_grid(rows, 16, 132).x == 128);  // 256 rows of 128 vectors
  rows.count = ~0U;
  CHECK(rows_grid(rows, 1, 132).x == 528);
  CHECK(rows_grid(rows, 1, 132, 16).x == 8);
  CHECK(rows_grid(rows, 1, 132, 1).x == 1);

  const Pool pool = pool_of(llama());
  CHECK(pages_grid(pool, 0, 16, 132).x == 0);
  CHECK(pages_grid(pool, 1, 16, 132).x == 64);  // 32 layers of 2048 vectors, four to a thread
  CHECK(pages_grid(pool, 1, 4, 132).x == 256);
  CHECK(pages_grid(pool, 1000, 16, 132).x == 528);
  CHECK(pages_grid(pool, ~0U, 1, 132).x == 528);
  CHECK(pages_grid(pool, 1000, 16, 132, 16).x == 16);
  CHECK(pages_grid(pool, 1000, 16, 132).y == 1);
}

TEST_CASE("an image is rounded up to what direct file access asks for") {
  CHECK(image_bytes(pool_of(llama())) == 2 * 32 * 16 * 2048);
  CHECK(image_stride(pool_of(llama())) == 2 * 32 * 16 * 2048);
  KVView view = llama();
  view.streams = 1;
  view.layers = 9;
  view.stream[0].row_bytes = 640;
  CHECK(image_bytes(pool_of(view)) == 92160);
  CHECK(image_stride(pool_of(view)) == 94208);
}

TEST_CASE("every kernel has one name in every width") {
  std::set<std::string> names;
  for (const Twin& twin : kTwins) {
    names.insert(twin.name);
    CHECK(twin.job_bytes <= kMaxJobBytes);
  }
  CHECK(names.size() == std::size(kTwins));
  std::size_t named = 0;
  for (const Kernel kernel :
       {Kernel::rows_scatter, Kernel::rows_gather, Kernel::page_copy, Kernel::image_gather, Kernel::image_scatter})
    for (const std::uint32_t width : {16U, 4U, 1U}) named += names.count(kernel_name(kernel, width));
  CHECK(named == names.size());
  CHECK(kernel_name(Kernel::page_copy, 8) == nullptr);
  CHECK(std::string(kernel_name(Kernel::rows_gather, 4)) == "rows_gather_4");
}

TEST_CASE("the image of the kernels holds every one of them") {
  if (kernels_image_size() == 0) {
    MESSAGE("SKIPPED: this build has no CUDA kernels");
    return;
  }
  CHECK(std::bit_cast<std::uintptr_t>(kernels_image()) % 64 == 0);
  // The magic number of a fat binary.
  CHECK(kernels_image()[0] == 0x50);
  CHECK(kernels_image()[1] == 0xED);
  CHECK(kernels_image()[2] == 0x55);
  CHECK(kernels_image()[3] == 0xBA);
}
