/// Whole pages in all layers, to other pages and to packed images on the device.
#include <fmt/format.h>

#include <cstring>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

using cuda::Kernel;

struct PageKind {
  const char* name;
  Pool::Shape shape;
};
const PageKind kKinds[] = {
    {"K and V of 2 KiB, 32 layers, page 16", {.rows = {2048, 2048}, .layers = 32, .page_size = 16}},
    {"K and V of 1 KiB, 4 layers, page 16", {.rows = {1024, 1024}, .layers = 4, .page_size = 16}},
    {"latent of 1152 B, 61 layers, page 64", {.rows = {1152}, .layers = 61, .page_size = 64}}};
constexpr std::uint32_t kCounts[] = {16, 64, 128, 256, 1024, 4096};
constexpr std::uint64_t kJudgedFrom = 256 << 20;
constexpr double kDemand = 0.92;

/// Returns a kind's shape with as many layers as leave room for sixteen pages.
Pool::Shape shape_of(const PageKind& kind, std::uint64_t moved) {
  Pool::Shape shape = kind.shape;
  shape.layers = 1;
  const std::uint64_t layers = moved / (kCounts[0] * shape.page_bytes());
  shape.layers = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(layers, 1, kind.shape.layers));
  std::uint32_t most = kCounts[0];
  for (const std::uint32_t count : kCounts)
    if (count * shape.page_bytes() <= moved) most = count;
  shape.pages = 2 * most;
  return shape;
}

std::string name_of(const PageKind& kind, const Pool::Shape& shape, std::size_t count) {
  return fmt::format("{}{}, {} pages ({})", kind.name,
                     shape.layers < kind.shape.layers ? fmt::format(" (here {})", shape.layers) : "", count,
                     size_text(count * shape.page_bytes()));
}

/// Queues one 2D copy for each page and stream: layers are its rows.
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

void check_images(Device& device, Pool& pool, const Buffer& images) {
  Mover& mover = pool.mover();
  const auto from = pool.next(4), to = pool.next(4);
  mover.stamp(from, 3);
  mover.images(Kernel::image_gather, images.at, device.stream);
  std::vector<std::byte> saved(4 * pool.store().image_bytes()), packed(saved.size());
  pool.store().save(from, saved.data());
  device.to_host(packed.data(), images.at, packed.size(), device.stream);
  device.wait(device.stream);
  for (std::size_t i = 0; i < 4 * mover.image_stride(); i += mover.image_stride())
    require(std::memcmp(saved.data() + i, packed.data() + i, mover.page_bytes()) == 0,
            "an image that the store saved, and one that its kernel packed");
  mover.use(to);
  mover.images(Kernel::image_scatter, images.at, device.stream);
  device.wait(device.stream);
  require(mover.stamped(to, 3), "pages that went through images");
}

void images_of(Session& session, const PageKind& kind) {
  Device& device = *session.device();
  const Pool::Shape shape = shape_of(kind, session.scale().moved);
  Pool pool(session, shape);
  Mover& mover = pool.mover();
  const Buffer images(device, shape.pages / 2 * mover.image_stride());
  check_images(device, pool, images);
  for (const std::uint32_t count : kCounts) {
    if (count > shape.pages / 2) continue;
    const auto pages = pool.next(count);
    mover.use(pages);
    const std::uint64_t bytes = count * mover.page_bytes();
    const Spread peer = session.time_on_stream(
        1, [&](std::size_t) { queue_2d(device, pool.store().view(), pages, images.at, mover.image_stride()); });
    for (const Kernel kernel : {Kernel::image_gather, Kernel::image_scatter}) {
      const Spread ours =
          session.time_on_stream(1, [&](std::size_t) { mover.images(kernel, images.at, device.stream); });
      session.rate(
          fmt::format("{}: {}", kernel == Kernel::image_gather ? "gather" : "scatter", name_of(kind, shape, count)),
          2 * bytes, ours, session.device_copy);
      session.peer("cuMemcpy2DAsync a page and stream", peer);
      session.peers_at_least("scattered copies", 1);
      if (bytes >= kJudgedFrom) session.share_at_least("pages", kDemand);
    }
  }
}

void copies_of(Session& session, const PageKind& kind) {
  Device& device = *session.device();
  const Pool::Shape shape = shape_of(kind, session.scale().moved);
  Pool pool(session, shape);
  Mover& mover = pool.mover();
  {
    const auto from = pool.next(4), to = pool.next(4);
    mover.stamp(from, 2);
    pool.store().copy(from, to);
    pool.check();
    require(mover.stamped(to, 2) && mover.stamped(from, 2), "pages that were copied");
  }
  const Buffer from_all(device, shape.pages / 2 * mover.page_bytes()), to_all(device, from_all.bytes);
  for (const std::uint32_t count : kCounts) {
    if (count > shape.pages / 2) continue;
    const std::uint64_t bytes = count * mover.page_bytes();
    const Spread ours = session.time_on_stream(1, [&](std::size_t) {
      const auto from = pool.next(count), to = pool.next(count);
      pool.store().copy(from, to);
    });
    pool.check();
    session.rate(name_of(kind, shape, count), 2 * bytes, ours, session.device_copy);
    if (bytes >= kJudgedFrom) session.share_at_least("pages", kDemand);
    const auto from = pool.next(count), to = pool.next(count);
    Batch batch;
    pool.for_runs(from, [&](DevicePtr at, std::size_t run) { batch.from.push_back(at), batch.bytes.push_back(run); });
    pool.for_runs(to, [&](DevicePtr at, std::size_t) { batch.to.push_back(at); });
    // Only the batch is scattered: one plain copy moves the same number of bytes in one piece.
    if (session.peer(batch)) session.peers_at_least("scattered copies", 1);
    session.peer("one cuMemcpyDtoDAsync", session.time_on_stream(1, [&](std::size_t) {
      device.copy(to_all.at, from_all.at, bytes, device.stream);
    }));
  }
}

}  // namespace

void measure_page_copies(Session& session) {
  session.cells(std::size(kKinds) * std::size(kCounts) * 3);
  for (const PageKind& kind : kKinds) copies_of(session, kind);
  if (!session.device()->driver().memcpy_batch_async)
    session.report.remarks.push_back(
        "page-copies: this driver has no cuMemcpyBatchAsync (added in 12.8), so that peer is left out.");
}

void measure_images(Session& session) {
  session.cells(std::size(kKinds) * std::size(kCounts) * 3);
  for (const PageKind& kind : kKinds) images_of(session, kind);
}

}  // namespace canopy::bench::gpu
