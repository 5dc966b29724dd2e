/// Transfers across the bus: the driver's own copies of large pieces, and page images, alone and beside a memory-bound
/// kernel.
#include <fmt/format.h>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

struct PageKind {
  std::uint32_t row_bytes;
  std::uint32_t layers;
};
/// Images of 8 KiB, 64 KiB and 2 MiB.
constexpr PageKind kKinds[] = {{256, 1}, {1024, 2}, {2048, 32}};
constexpr std::uint64_t kSmall = 64 << 10;
constexpr std::uint64_t kMoved = 256 << 20;

/// Checks that images which the store saved come back whole.
void check_images(Pool& pool, std::size_t count, const Pinned& host) {
  const auto from = pool.next(count), to = pool.next(count);
  pool.mover().stamp(from, 4);
  pool.store().save(from, host.at);
  pool.store().load(host.at, to);
  pool.check();
  require(pool.mover().stamped(to, 4), "pages that went to the host and back");
}

void bus_of(Session& session, const PageKind& kind) {
  Pool::Shape shape{.rows = {kind.row_bytes, kind.row_bytes}, .layers = kind.layers};
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
    session.rate(fmt::format("{}: {} images of {}", save ? "D2H" : "H2D", count, quantity(image, Unit::bytes)), bytes,
                 ours, save ? session.to_host : session.to_device);
    session.share_at_least("bus", image >= kSmall ? 0.93 : 0.85);
    // The peer copies each run of a page directly to its place in the image, as one batch of the copy engine.
    Batch batch;
    auto& in_pool = save ? batch.from : batch.to;
    auto& in_image = save ? batch.to : batch.from;
    std::uint64_t page = 0, at = 0;
    pool.for_runs(pool.next(count), [&](DevicePtr run, std::size_t run_bytes) {
      in_pool.push_back(run);
      in_image.push_back(reinterpret_cast<DevicePtr>(host.at) + page * image + at);
      batch.bytes.push_back(run_bytes);
      if ((at += run_bytes) == pool.mover().page_bytes()) ++page, at = 0;
    });
    session.peer(batch);
  }
}

}  // namespace

void measure_device_copy(Session& session) {
  Device& device = *session.device();
  const std::uint64_t bytes = session.scale().roofline;
  const Buffer both(device, 2 * bytes);
  const Spread seconds =
      session.time_on_stream(1, [&](std::size_t) { device.copy(both.at + bytes, both.at, bytes, device.stream); });
  session.rate("device copy, " + quantity(bytes, Unit::bytes), 2 * bytes, seconds, 0,
               "cuMemcpyDtoDAsync; read and written bytes counted");
  session.device_copy = session.last().ours.median;
}

void measure_bus_copies(Session& session) {
  Device& device = *session.device();
  session.cells(3);
  const std::uint64_t bytes = std::max<std::uint64_t>(session.scale().roofline / 4, 1);
  const Buffer here(device, 2 * bytes);
  const Pinned up(device, bytes), down(device, bytes);
  const auto copy = [&](const char* name, std::uint64_t moved, auto&& work) {
    session.rate(fmt::format("pinned, {}, {}", name, quantity(moved, Unit::bytes)), moved,
                 session.time_on_stream(1, work), 0);
    return session.last().ours.median;
  };
  session.to_device = copy("H2D", bytes, [&](std::size_t) { device.to_device(here.at, up.at, bytes, device.stream); });
  session.to_host = copy("D2H", bytes, [&](std::size_t) { device.to_host(down.at, here.at, bytes, device.stream); });
  const Event fork(device), join(device);
  copy("both ways at once", 2 * bytes, [&](std::size_t) {
    fork.record(device.stream);
    device.check("cuStreamWaitEvent", device.driver().stream_wait_event(device.beside, fork.handle, 0));
    device.to_device(here.at, up.at, bytes, device.beside);
    device.to_host(down.at, here.at + bytes, bytes, device.stream);
    join.record(device.beside);
    device.check("cuStreamWaitEvent", device.driver().stream_wait_event(device.stream, join.handle, 0));
  });
}

void measure_bus(Session& session) {
  session.cells(std::size(kKinds) * 4);
  for (const PageKind& kind : kKinds) bus_of(session, kind);
}

void measure_beside(Session& session) {
  Device& device = *session.device();
  session.cells(3);
  Pool::Shape shape{.rows = {1024, 1024}, .layers = 16};
  const std::uint64_t count = std::max<std::uint64_t>(session.scale().moved / 2 / shape.page_bytes(), 1);
  shape.pages = 3 * count;
  Pool pool(session, shape);
  const auto from = pool.next(count), to = pool.next(count), saved = pool.next(count);
  const std::uint64_t bytes = count * pool.store().image_bytes();
  const Pinned host(device, bytes);
  pool.mover().stamp(saved.first(1), 6);
  pool.mover().use(from, to);
  const std::size_t launches = device.fake ? 2 : 1000;  // a few hundred milliseconds
  const Event begin(device), end(device);
  const auto repeat = [&](auto&& meanwhile) {
    std::vector<double> seconds;
    constexpr std::size_t kMost = 10;
    session.repeat(
        [&] {
          begin.record(device.beside);
          for (std::size_t i = 0; i < launches; ++i) pool.mover().copy(device.beside);
          end.record(device.beside);
          meanwhile();
          device.wait(device.beside);
          seconds.push_back(end.since(begin));
        },
        1, kMost);
    return tenths_of(std::move(seconds));
  };
  const std::uint64_t moved = 2 * launches * count * pool.mover().page_bytes();
  const Spread alone = repeat([] {});
  session.rate("the kernel (page copies) alone", moved, alone, session.device_copy);
  for (const bool save : {true, false}) {
    std::vector<double> each;
    const Spread together = repeat([&] {
      // Only while the kernel runs, because later transfers would not be slowed down.
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
      session.at_most("bus beside work", std::max(slower, 1e-9), 0.05,
                      fmt::format("{:.1f} % slower beside D2H", 100 * slower));
    if (each.empty()) continue;
    session.rate(fmt::format("{} beside the kernel, {}", way, quantity(bytes, Unit::bytes)), bytes,
                 tenths_of(std::move(each)), save ? session.to_host : session.to_device, "this thread's clock");
  }
  require(pool.mover().stamped(saved.first(1), 6), "pages that went to the host and back beside a kernel");
}

}  // namespace canopy::bench::gpu
