/// B3 and B4: whole pages in all layers, to other pages and to packed images on the device.
#include <fmt/format.h>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

using cuda::Kernel;

struct PageKind {
  const char* name;
  std::vector<std::uint32_t> rows;
  Units page_size;
  std::uint32_t layers;
};
const PageKind kKinds[] = {{"K and V of 2 KiB, 32 layers, page 16", {2048, 2048}, 16, 32},
                           {"K and V of 1 KiB, 4 layers, page 16", {1024, 1024}, 16, 4},
                           {"latent of 1152 B, 61 layers, page 64", {1152}, 64, 61}};
constexpr std::uint32_t kCounts[] = {16, 64, 128, 256, 1024, 4096};
constexpr std::size_t kMostPieces = 16384;  ///< of a peer's call: the CPU queues each one
constexpr std::uint64_t kJudgedFrom = 256 << 20;
constexpr double kDemand = 0.92;

/// A kind with as many layers as leave room for sixteen pages.
Pool::Shape shape_of(const PageKind& kind, std::uint64_t moved) {
  Pool::Shape shape{.rows = kind.rows, .layers = 1, .page_size = kind.page_size};
  const std::uint64_t layers = moved / (kCounts[0] * shape.page_bytes());
  shape.layers = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(layers, 1, kind.layers));
  std::uint32_t most = kCounts[0];
  for (const std::uint32_t count : kCounts)
    if (count * shape.page_bytes() <= moved) most = count;
  shape.pages = 2 * most;
  return shape;
}

/// The driver's own way to move scattered pieces; the runs of each page, layer and stream.
struct Batch {
  std::vector<DevicePtr> to, from;
  std::vector<std::size_t> bytes;
  std::vector<std::size_t> first{0};
  cuda::MemcpyAttributes attributes;

  void queue(Device& device) {
    std::size_t failed = 0;
    device.check("cuMemcpyBatchAsync",
                 device.driver().memcpy_batch_async(to.data(), from.data(), bytes.data(), to.size(), &attributes,
                                                    first.data(), 1, &failed, device.stream));
  }
};
Batch batch_of(const KvView& view, std::span<const Page> from, std::span<const Page> to) {
  Batch batch;
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::uint32_t s = 0; s < view.streams; ++s)
      for (std::uint32_t layer = 0; layer < view.layers; ++layer) {
        batch.from.push_back(reinterpret_cast<DevicePtr>(view.page(s, layer, from[i])));
        batch.to.push_back(reinterpret_cast<DevicePtr>(view.page(s, layer, to[i])));
        batch.bytes.push_back(view.stream[s].page_stride);
      }
  return batch;
}

std::string name_of(const PageKind& kind, const Pool::Shape& shape, std::size_t count) {
  return fmt::format("{}{}, {} pages ({})", kind.name,
                     shape.layers < kind.layers ? fmt::format(" (here {})", shape.layers) : "", count,
                     size_text(count * shape.page_bytes()));
}

void judge(Session& session, const Row& row, std::uint64_t bytes) {
  double best = 0;
  for (const Peer& peer : row.peers) best = std::max(best, peer.value.median);
  session.at_least("A3", row.ours.median / best, 1.0,
                   fmt::format("{:.2f} of the best copy of the driver ({})", row.ours.median / best, row.name));
  if (bytes >= kJudgedFrom && row.of_roofline)
    session.at_least("A1", *row.of_roofline, kDemand, fmt::format("{:.3f} ({})", *row.of_roofline, row.name));
}

/// One 2D copy for each page and stream: layers are its rows.
void queue_2d(Device& device, const KvView& view, std::span<const Page> pages, DevicePtr images, std::uint64_t stride) {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    DevicePtr image = images + i * stride;
    for (std::uint32_t s = 0; s < view.streams; ++s) {
      cuda::Memcpy2D copy;
      copy.src_device = reinterpret_cast<DevicePtr>(view.page(s, 0, pages[i]));
      copy.src_pitch = view.stream[s].layer_stride;
      copy.dst_device = image;
      copy.dst_pitch = copy.width_bytes = view.stream[s].page_stride;
      copy.height = view.layers;
      device.check("cuMemcpy2DAsync", device.driver().memcpy_2d_async(&copy, device.stream));
      image += view.stream[s].page_stride * view.layers;
    }
  }
}

void images_of(Session& session, const PageKind& kind) {
  Device& device = *session.device();
  const Pool::Shape shape = shape_of(kind, session.scale().moved);
  Pool pool(session, shape);
  Mover& mover = pool.mover();
  const KvView& view = pool.store().view();
  const Buffer images(device, shape.pages / 2 * mover.image_stride());
  {
    const auto from = pool.next(4), to = pool.next(4);
    mover.stamp(from, 3);
    mover.images(Kernel::image_gather, images.at, device.stream);
    std::vector<std::byte> saved(4 * pool.store().image_bytes()), packed(saved.size());
    pool.store().save(from, saved.data());
    device.to_host(packed.data(), images.at, packed.size(), device.stream);
    device.wait(device.stream);
    for (std::size_t i = 0; i < 4; ++i)
      require(std::equal(saved.begin() + static_cast<std::ptrdiff_t>(i * mover.image_stride()),
                         saved.begin() + static_cast<std::ptrdiff_t>(i * mover.image_stride() + mover.page_bytes()),
                         packed.begin() + static_cast<std::ptrdiff_t>(i * mover.image_stride())),
              "an image that the store saved, and one that its kernel packed");
    mover.use(to);
    mover.images(Kernel::image_scatter, images.at, device.stream);
    device.wait(device.stream);
    require(mover.stamped(to, 3), "pages that went through images");
  }
  for (const std::uint32_t count : kCounts) {
    if (count > shape.pages / 2) continue;
    const auto pages = pool.next(count);
    mover.use(pages);
    const double moved = 2 * static_cast<double>(count * mover.page_bytes());
    const Spread peer =
        session.time_on_stream(1, [&](std::size_t) { queue_2d(device, view, pages, images.at, mover.image_stride()); });
    for (const Kernel kernel : {Kernel::image_gather, Kernel::image_scatter}) {
      const Spread ours =
          session.time_on_stream(1, [&](std::size_t) { mover.images(kernel, images.at, device.stream); });
      Row& row = session.rate(
          fmt::format("{}: {}", kernel == Kernel::image_gather ? "gather" : "scatter", name_of(kind, shape, count)),
          moved, ours, session.device_copy);
      row.peers.push_back({"cuMemcpy2DAsync a page and stream", rate_of(moved, peer)});
      judge(session, row, count * mover.page_bytes());
    }
  }
}

void copies_of(Session& session, const PageKind& kind) {
  Device& device = *session.device();
  const Pool::Shape shape = shape_of(kind, session.scale().moved);
  Pool pool(session, shape);
  Mover& mover = pool.mover();
  const auto check = [&](std::size_t count, std::uint64_t seed) {
    const auto from = pool.next(count), to = pool.next(count);
    mover.stamp(from, seed);
    pool.store().copy(from, to);
    pool.check();
    require(mover.stamped(to, seed) && mover.stamped(from, seed), "pages that were copied");
  };
  check(4, 2);
  const Buffer from_all(device, shape.pages / 2 * mover.page_bytes()), to_all(device, from_all.bytes);
  for (const std::uint32_t count : kCounts) {
    if (count > shape.pages / 2) continue;
    const std::uint64_t bytes = count * mover.page_bytes();
    const double moved = 2 * static_cast<double>(bytes);
    const Spread ours = session.time_on_stream(1, [&](std::size_t) {
      const auto from = pool.next(count), to = pool.next(count);
      pool.store().copy(from, to);
    });
    pool.check();
    const Spread plain =
        session.time_on_stream(1, [&](std::size_t) { device.copy(to_all.at, from_all.at, bytes, device.stream); });
    Row& row = session.rate(name_of(kind, shape, count), moved, ours, session.device_copy);
    row.peers.push_back({"one cuMemcpyDtoDAsync", rate_of(moved, plain)});
    if (bytes >= kJudgedFrom)
      session.at_least("A1", *row.of_roofline, kDemand, fmt::format("{:.3f} ({})", *row.of_roofline, row.name));
    const std::size_t pieces = std::size_t{shape.layers} * shape.rows.size() * count;
    if (!device.driver().memcpy_batch_async || pieces > kMostPieces) continue;
    const auto from = pool.next(count), to = pool.next(count);
    Batch batch = batch_of(pool.store().view(), from, to);
    const Spread batched = session.time_on_stream(1, [&](std::size_t) { batch.queue(device); });
    Row& judged = session.report.rows.back();
    judged.peers.push_back({fmt::format("cuMemcpyBatchAsync, {} pieces", pieces), rate_of(moved, batched)});
    const double ratio = judged.ours.median / judged.peers.back().value.median;
    session.at_least("A3", ratio, 1.0, fmt::format("{:.2f} of cuMemcpyBatchAsync ({})", ratio, judged.name));
  }
}

}  // namespace

void measure_page_copy(Session& session) {
  session.need_rooflines(false);
  session.begin("B3 pages copied", 18, std::size(kKinds) * std::size(kCounts) * 3);
  for (const PageKind& kind : kKinds) copies_of(session, kind);
  if (!session.device()->driver().memcpy_batch_async)
    session.report.remarks.push_back(
        "B3: this driver has no cuMemcpyBatchAsync (12.8 brought it), so that peer is "
        "left out.");
}

void measure_images(Session& session) {
  session.need_rooflines(false);
  session.begin("B4 page images, on the device", 18, std::size(kKinds) * std::size(kCounts) * 3);
  for (const PageKind& kind : kKinds) images_of(session, kind);
}

}  // namespace canopy::bench::gpu
