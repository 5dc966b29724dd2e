/// The store's kernels: over its pool, whose memory is mapped in segments, and over the same pages in one allocation
/// that never changes; beside the driver's own copies of as many bytes.
#include <fmt/format.h>

#include <bit>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

using cuda::Kernel;

constexpr std::uint32_t kRowBytes[] = {256, 1024};
constexpr std::uint64_t kMiB = 1 << 20;
constexpr const char* kWays[] = {"elastic", "fixed, segment-major", "fixed, layer by layer"};

struct Figure {
  const char* name;
  Kernel kernel;
  std::uint64_t judged_from;  ///< bytes read and written
};
constexpr Figure kFigures[] = {{"rows written", Kernel::rows_scatter, 64 * kMiB},
                               {"rows read", Kernel::rows_gather, 64 * kMiB},
                               {"pages copied", Kernel::page_copy, 256 * kMiB},
                               {"images packed", Kernel::image_gather, 256 * kMiB},
                               {"images unpacked", Kernel::image_scatter, 256 * kMiB}};

/// Returns the store's view of the same number of pages, with its rows in one allocation.
KVView fixed(const KVView& store, bool by_layer, std::uint32_t pages, DevicePtr at) {
  KVView view = store;
  for (std::uint32_t s = 0; s < view.streams; ++s) {
    KVStream& stream = view.stream[s];
    const std::uint64_t run = stream.page_stride, all = run * view.layers * pages;
    stream.base = reinterpret_cast<std::byte*>(at) + s * all;
    stream.segment_stride = by_layer ? all : run * view.layers * view.segment_pages;
    if (by_layer) stream.layer_stride = run * pages;
  }
  if (by_layer) view.segment_pages = pages;
  return view;
}

/// Copies a few pages and compares them, then sets the lists that are timed.
void check_copies(const Device& device, Mover& mover, std::span<const Page> from, std::span<const Page> to) {
  const std::size_t some = std::min<std::size_t>(from.size(), 4);
  mover.stamp(from.first(some), 5);
  mover.use(from.first(some), to.first(some));
  mover.copy(device.stream);
  device.wait(device.stream);
  require(mover.stamped(to.first(some), 5), "copied pages");
  mover.use(from, to);
}

/// Times the driver's own calls as peers of a page copy: one batch of its pieces, and one plain copy of as many bytes.
void add_peers(Session& session, Pool& pool, std::span<const Page> from, std::span<const Page> to) {
  const Device& device = *session.device();
  Batch batch;
  pool.for_runs(from, [&](DevicePtr at, std::size_t run) { batch.from.push_back(at), batch.bytes.push_back(run); });
  pool.for_runs(to, [&](DevicePtr at, std::size_t) { batch.to.push_back(at); });
  if (session.peer(batch)) session.peers_at_least("scattered copies", 1);
  const std::uint64_t bytes = from.size() * pool.mover().page_bytes();
  const Buffer here(device, bytes), there(device, bytes);
  session.peer("one cuMemcpyDtoDAsync",
               session.time_on_stream(1, [&](std::size_t) { device.copy(there.at, here.at, bytes, device.stream); }));
}

void compare(Session& session, std::uint32_t row_bytes) {
  const Device& device = *session.device();
  Pool::Shape shape{.rows = {row_bytes, row_bytes}, .layers = device.fake ? 2U : 32U};
  const auto pages =
      static_cast<std::uint32_t>(std::bit_floor(std::max<std::uint64_t>(session.scale().pool / shape.page_bytes(), 4)));
  shape.pages = pages;
  Pool pool(session, shape);
  const Buffer memory(device, pages * shape.page_bytes());
  const KVView& view = pool.store().view();
  Mover movers[] = {{device, view, pages},
                    {device, fixed(view, false, pages, memory.at), pages},
                    {device, fixed(view, true, pages, memory.at), pages}};
  const auto count = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(session.scale().moved / 2 / shape.page_bytes(), 1, pages / 2));
  const auto from = pool.next(count), to = pool.next(count);
  for (Mover& mover : movers) check_copies(device, mover, from, to);
  const Buffer packed(device, count * movers[0].image_stride());
  for (const Figure& figure : kFigures) {
    const bool rows = figure.kernel == Kernel::rows_scatter || figure.kernel == Kernel::rows_gather;
    const std::uint64_t bytes = 2 * count * movers[0].page_bytes() / (rows ? shape.layers : 1);
    double elastic = 0, best_fixed = 0;
    for (std::size_t way = 0; way < std::size(movers); ++way) {
      const Mover& mover = movers[way];
      const Spread seconds = session.time_on_stream(1, [&](std::size_t call) {
        if (rows)
          mover.rows(figure.kernel, static_cast<std::uint32_t>(call % shape.layers), count * shape.page_size, packed.at,
                     device.stream);
        else if (figure.kernel == Kernel::page_copy) mover.copy(device.stream);
        else mover.images(figure.kernel, packed.at, device.stream);
      });
      session.rate(fmt::format("{} of {}: {}", figure.name, quantity(row_bytes, Unit::bytes), kWays[way]), bytes,
                   seconds, session.device_copy);
      const double rate = session.last().ours.median;
      if (way > 0) {
        best_fixed = std::max(best_fixed, rate);
        continue;
      }
      elastic = rate;
      if (bytes >= figure.judged_from)
        rows ? session.share_at_least("rows", row_bytes >= 512 ? 0.85 : 0.75) : session.share_at_least("pages", 0.92);
      if (figure.kernel != Kernel::page_copy) continue;
      constexpr double kDrained = 10e9;
      session.at_most("draining", 2 * kDrained / rate, 10e-3,
                      fmt::format("10 GB of pages in {:.2f} ms at this rate", 2e3 * kDrained / rate));
      add_peers(session, pool, from, to);
    }
    session.at_least(
        "elastic pools", elastic / best_fixed, 0.98,
        fmt::format("{:.3f} of fixed ({} of {})", elastic / best_fixed, figure.name, quantity(row_bytes, Unit::bytes)));
  }
  pool.check();
}

/// Times writes of a decode step: a row of each token, where the launch takes longer than the work.
void write_few(Session& session) {
  const Device& device = *session.device();
  constexpr std::uint32_t kRow = 1024, kTokens[] = {1, 32, 256};
  constexpr std::size_t kInARow = 20;
  Pool pool(session, {.rows = {kRow, kRow}, .layers = 4, .pages = 512});
  const Buffer rows(device, 2 * kRow * 256), other(device, rows.bytes);
  for (const std::uint32_t tokens : kTokens) {
    const std::uint64_t each = std::uint64_t{tokens} * kRow;
    auto* const first = reinterpret_cast<std::byte*>(rows.at);
    const Rows packed{{first, first + each}, Rows::At::device};
    const Spread ours = session.time_on_stream(kInARow, [&](std::size_t call) {
      const Slots slots{pool.next((tokens + 15) / 16), 0, tokens};
      pool.store().write(static_cast<std::uint32_t>(call % 4), slots, packed);
    });
    pool.check();
    const std::string name = fmt::format("{} tokens written ({})", tokens, quantity(2 * each, Unit::bytes));
    session.time(name, ours, fmt::format("a call of {} in a row", kInARow));
    const Spread copy =
        session.time_on_stream(kInARow, [&](std::size_t) { device.copy(other.at, rows.at, 2 * each, device.stream); });
    session.peer("one cuMemcpyDtoDAsync", copy);
    const double longer = ours.median / copy.median;
    session.at_most("decode writes", longer, 1.1, fmt::format("{:.2f} x one plain copy ({})", longer, name));
  }
}

}  // namespace

void measure_kernels(Session& session) {
  session.cells(std::size(kRowBytes) * (3 * std::size(kFigures) + 2) + 6);
  for (const std::uint32_t row_bytes : kRowBytes) compare(session, row_bytes);
  write_few(session);
}

}  // namespace canopy::bench::gpu
