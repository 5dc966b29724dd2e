/// B5 and B6: page images between the pool and the host, alone and beside a memory-bound kernel.
#include <fmt/format.h>

#include <cstring>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

struct PageKind {
  std::uint32_t row_bytes;
  Units page_size;
  std::uint32_t layers;
};
/// Images of 8 KiB, 64 KiB, 512 KiB, 2 MiB, 8 MiB and 64 MiB.
constexpr PageKind kKinds[] = {{256, 16, 1},   {1024, 16, 2},  {1024, 16, 16},
                               {2048, 16, 32}, {2048, 64, 32}, {4096, 64, 128}};
constexpr std::uint64_t kSmall = 64 << 10;
constexpr std::uint64_t kMoved = 256 << 20;

/// Images that the store saved come back whole, and are the same in pinned and in other memory.
void check_images(Pool& pool, std::size_t count, const Pinned& host) {
  const std::uint64_t image = pool.store().image_bytes();
  const auto from = pool.next(count), to = pool.next(count);
  pool.mover().stamp(from, 4);
  pool.store().save(from, host.at);
  pool.store().load(host.at, to);
  pool.check();
  require(pool.mover().stamped(to, 4), "pages that went to the host and back");
  std::vector<std::byte> pageable(count * image);
  pool.store().save(from, pageable.data());
  for (std::size_t i = 0; i < count; ++i)
    require(std::memcmp(pageable.data() + i * image, host.at + i * image, pool.mover().page_bytes()) == 0,
            "the same images in pinned and in other memory of the host");
}

/// Adds the peer to the last two rows, D2H and H2D: each run of a page straight to its place in the image, as one batch
/// of the copy engine.
void add_batched_peer(Session& session, Pool& pool, std::size_t count, const Pinned& host) {
  Device& device = *session.device();
  const KvView& view = pool.store().view();
  const std::size_t runs = std::size_t{view.streams} * view.layers * count;
  constexpr std::size_t kMostRuns = 16384;
  if (!device.driver().memcpy_batch_async || runs > kMostRuns) return;
  std::vector<DevicePtr> in_pool, in_image;
  const auto pages = pool.next(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto at = reinterpret_cast<DevicePtr>(host.at) + i * pool.store().image_bytes();
    for (std::uint32_t s = 0; s < view.streams; ++s)
      for (std::uint32_t layer = 0; layer < view.layers; ++layer, at += view.stream[s].page_stride) {
        in_pool.push_back(reinterpret_cast<DevicePtr>(view.page(s, layer, pages[i])));
        in_image.push_back(at);
      }
  }
  std::vector<std::size_t> sizes(runs, view.stream[0].page_stride);
  for (const bool save : {true, false}) {
    std::size_t first = 0, failed = 0;
    cuda::MemcpyAttributes attributes;
    const Spread batched = session.time_on_stream(1, [&](std::size_t) {
      device.check("cuMemcpyBatchAsync",
                   device.driver().memcpy_batch_async(save ? in_image.data() : in_pool.data(),
                                                      save ? in_pool.data() : in_image.data(), sizes.data(), runs,
                                                      &attributes, &first, 1, &failed, device.stream));
    });
    Row& row = session.report.rows[session.report.rows.size() - (save ? 2 : 1)];
    row.peers.push_back({fmt::format("cuMemcpyBatchAsync, {} pieces of {}", runs, size_text(sizes[0])),
                         rate_of(static_cast<double>(count * pool.store().image_bytes()), batched)});
  }
}

void bus_of(Session& session, const PageKind& kind) {
  Pool::Shape shape{.rows = {kind.row_bytes, kind.row_bytes}, .layers = kind.layers, .page_size = kind.page_size};
  const std::uint64_t most = std::min(session.scale().moved, kMoved);
  if (shape.page_bytes() > most) return;
  const std::uint64_t count = most / shape.page_bytes();
  shape.pages = 2 * count;
  Pool pool(session, shape);
  const std::uint64_t image = pool.store().image_bytes(), bytes = count * image;
  const Pinned host(*session.device(), bytes);
  check_images(pool, std::min<std::size_t>(count, 4), host);
  for (const bool save : {true, false}) {
    const Spread ours = session.time_on_stream(1, [&](std::size_t) {
      if (save) pool.store().save(pool.next(count), host.at);
      else pool.store().load(host.at, pool.next(count));
    });
    pool.check();
    const Row& row = session.rate(fmt::format("{}: {} images of {}", save ? "D2H" : "H2D", count, size_text(image)),
                                  static_cast<double>(bytes), ours, save ? session.to_host : session.to_device);
    const double share = *row.of_roofline;
    session.at_least("A4", share, image >= kSmall ? 0.93 : 0.85, fmt::format("{:.3f} ({})", share, row.name));
  }
  add_batched_peer(session, pool, count, host);
}

}  // namespace

void measure_bus(Session& session) {
  session.need_rooflines(true);
  session.begin("B5 page images across the bus", 24, std::size(kKinds) * 4);
  for (const PageKind& kind : kKinds) bus_of(session, kind);
}

void measure_beside(Session& session) {
  session.need_rooflines(true);
  Device& device = *session.device();
  session.begin("B6 across the bus beside a memory-bound kernel", 14, 3);
  Pool::Shape shape{.rows = {1024, 1024}, .layers = 16};
  const std::uint64_t count = std::max<std::uint64_t>(session.scale().moved / 2 / shape.page_bytes(), 1);
  shape.pages = 3 * count;
  Pool pool(session, shape);
  const auto from = pool.next(count), to = pool.next(count), saved = pool.next(count);
  const std::uint64_t bytes = count * pool.store().image_bytes();
  const Pinned host(device, bytes);
  pool.mover().stamp(saved.first(1), 6);
  pool.mover().use(from, to);
  const std::size_t launches = device.fake ? 2 : 1000;  // some hundred milliseconds
  const Event begin(device), end(device);
  const auto compute = [&] {
    begin.record(device.beside);
    for (std::size_t i = 0; i < launches; ++i) pool.mover().copy(device.beside);
    end.record(device.beside);
  };
  const auto repeat = [&](auto&& meanwhile) {
    std::vector<double> seconds;
    const double until = now() + session.cell();
    const std::size_t least = 5, most = 10;
    while (seconds.size() < least || (seconds.size() < most && now() < until)) {
      compute();
      meanwhile();
      device.wait(device.beside);
      seconds.push_back(end.since(begin));
    }
    return tenths_of(std::move(seconds));
  };
  const double moved = 2 * static_cast<double>(launches * count * pool.mover().page_bytes());
  const Spread alone = repeat([] {});
  session.rate("the kernel (page copies) alone", moved, alone, session.device_copy);
  for (const bool save : {true, false}) {
    std::vector<double> each;
    const Spread together = repeat([&] {
      // Only while the kernel runs: later transfers would not be slowed down.
      for (int i = 0; i < 1000 && !end.done(); ++i)
        each.push_back(seconds_of([&] {
          if (save) pool.store().save(saved, host.at);
          else pool.store().load(host.at, saved);
        }));
    });
    pool.check();
    const char* const way = save ? "D2H" : "H2D";
    const double slower = together.median / alone.median - 1;
    session.rate(fmt::format("the kernel beside {}", way), moved, together, session.device_copy,
                 fmt::format("{:+.1f} % of its time alone", 100 * slower));
    if (save)
      session.at_most("A5", std::max(slower, 1e-9), 0.05, fmt::format("{:.1f} % slower beside D2H", 100 * slower));
    if (each.empty()) continue;
    session.rate(fmt::format("{} beside the kernel, {}", way, size_text(bytes)), static_cast<double>(bytes),
                 tenths_of(std::move(each)), save ? session.to_host : session.to_device, "this thread's clock");
  }
  require(pool.mover().stamped(saved.first(1), 6), "pages that went to the host and back beside a kernel");
}

}  // namespace canopy::bench::gpu
