/// B7: what elastic memory costs. The same kernels over the store's pool, in segments of mapped memory, and over the
/// same pages in one allocation that never changes, laid out in three ways.
#include <fmt/format.h>

#include <bit>
#include <functional>
#include <numeric>
#include <random>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

using cuda::Kernel;

constexpr std::uint32_t kRowBytes = 1024, kLayers = 32;
constexpr Units kPageSize = 16;
constexpr double kDemand = 0.98;

enum class Layout { segments, layers, blocks };
constexpr const char* kNames[] = {"fixed, segment-major", "fixed, layer by layer", "fixed, page by page"};

/// The store's view of as many pages, with its rows elsewhere.
KvView laid_out(const KvView& store, Layout layout, std::uint32_t pages, DevicePtr at) {
  KvView view = store;
  for (std::uint32_t s = 0; s < view.streams; ++s) {
    KvStream& stream = view.stream[s];
    const std::uint64_t run = stream.page_stride, all = run * view.layers * pages;
    stream.base = reinterpret_cast<std::byte*>(at) + s * all;
    stream.segment_stride = run * view.layers * view.segment_pages;
    if (layout == Layout::layers) {
      stream.layer_stride = run * pages;
      stream.segment_stride = all;
    } else if (layout == Layout::blocks) {
      stream.layer_stride = run;
      stream.page_stride = run * view.layers;
    }
  }
  if (layout == Layout::layers) view.segment_pages = pages;
  return view;
}

struct Subject {
  std::string name;
  std::unique_ptr<Mover> mover;
};

struct TimedKernel {
  const char* name;
  double bytes;
  std::function<void(Mover&, std::size_t)> work;
};

/// Each kernel of a layout, over `count` pages of a shape; rows and images are packed at `packed`.
std::vector<TimedKernel> kernels_of(const Device& device, const Pool::Shape& shape, std::uint32_t count,
                                    DevicePtr packed) {
  const auto tokens = count * kPageSize;
  const auto rows = [&device, tokens, packed, layers = shape.layers](Kernel kernel) {
    return [&device, tokens, packed, layers, kernel](Mover& mover, std::size_t call) {
      mover.rows(kernel, static_cast<std::uint32_t>(call % layers), tokens, packed, device.stream);
    };
  };
  const auto images = [&device, packed](Kernel kernel) {
    return [&device, packed, kernel](Mover& mover, std::size_t) { mover.images(kernel, packed, device.stream); };
  };
  const double row_bytes = 2.0 * tokens * 2 * kRowBytes;
  const double page_bytes = 2.0 * static_cast<double>(count * shape.page_bytes());
  return {{"rows written", row_bytes, rows(Kernel::rows_scatter)},
          {"rows read", row_bytes, rows(Kernel::rows_gather)},
          {"pages copied", page_bytes, [&device](Mover& mover, std::size_t) { mover.copy(device.stream); }},
          {"images packed", page_bytes, images(Kernel::image_gather)},
          {"images unpacked", page_bytes, images(Kernel::image_scatter)}};
}

/// Copies a few pages in each layout and compares them, then sets the lists that are timed.
void check_copies(const Device& device, std::span<const Subject> subjects, std::span<const Page> from,
                  std::span<const Page> to) {
  const std::size_t some = std::min<std::size_t>(from.size(), 4);
  for (const Subject& subject : subjects) {
    subject.mover->stamp(from.first(some), 5);
    subject.mover->use(from.first(some), to.first(some));
    subject.mover->copy(device.stream);
    device.wait(device.stream);
    require(subject.mover->stamped(to.first(some), 5), "pages copied in another layout");
    subject.mover->use(from, to);
  }
}

/// The elastic pool comes first, page by page last: attention kernels take no such layout, so it is not judged.
void compare(Session& session, const TimedKernel& kernel, std::span<const Subject> subjects, std::uint64_t pool_bytes) {
  double best_fixed = 0, ours = 0;
  std::string row_name;
  for (const Subject& subject : subjects) {
    const Spread seconds = session.time_on_stream(1, [&](std::size_t call) { kernel.work(*subject.mover, call); });
    const std::string name = fmt::format("{}, pool of {}: {}", kernel.name, size_text(pool_bytes), subject.name);
    const Row& row = session.rate(name, kernel.bytes, seconds, session.device_copy);
    if (&subject == &subjects.front()) {
      ours = row.ours.median;
      row_name = name;
    } else if (&subject != &subjects.back()) {
      best_fixed = std::max(best_fixed, row.ours.median);
    }
  }
  session.at_least("A6", ours / best_fixed, kDemand, fmt::format("{:.3f} of fixed ({})", ours / best_fixed, row_name));
}

/// What elastic memory costs each kernel, in a pool of about `wanted` bytes.
void tax(Session& session, std::uint64_t wanted) {
  Device& device = *session.device();
  Pool::Shape shape{.rows = {kRowBytes, kRowBytes}, .layers = device.fake ? 2 : kLayers, .page_size = kPageSize};
  const auto pages =
      static_cast<std::uint32_t>(std::bit_floor(std::max<std::uint64_t>(wanted / shape.page_bytes(), 4)));
  shape.pages = pages;
  Pool elastic(session, shape);
  const Buffer memory(device, pages * shape.page_bytes());
  std::vector<Subject> subjects;
  subjects.push_back({"elastic", std::make_unique<Mover>(device, elastic.store().view(), pages)});
  for (const Layout layout : {Layout::segments, Layout::layers, Layout::blocks})
    subjects.push_back(
        {kNames[static_cast<int>(layout)],
         std::make_unique<Mover>(device, laid_out(elastic.store().view(), layout, pages, memory.at), pages)});
  const auto count = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(session.scale().moved / 2 / shape.page_bytes(), 1, pages / 2));
  const auto from = elastic.next(count), to = elastic.next(count);
  check_copies(device, subjects, from, to);
  const Buffer packed(device, count * subjects[0].mover->image_stride());
  for (const TimedKernel& kernel : kernels_of(device, shape, count, packed.at))
    compare(session, kernel, subjects, pages * shape.page_bytes());
}

}  // namespace

void measure_layouts(Session& session) {
  session.need_rooflines(false);
  Device& device = *session.device();
  const std::uint64_t large = device.free_bytes() / 5 * 2;
  const bool twice = !device.fake && large >= 2 * session.scale().pool && session.report.gpu->budget >= 120;
  session.begin("B7 elastic and fixed pools", 24, twice ? 40 : 20);
  tax(session, session.scale().pool);
  // Larger than the reach of the device's address translation.
  if (twice) tax(session, large);
}

}  // namespace canopy::bench::gpu
