/// B7: what elastic memory costs. The same kernels over the store's pool, in segments of mapped memory, and over the
/// same pages in one allocation that never changes, laid out in three ways.
#include <fmt/format.h>

#include <bit>
#include <numeric>
#include <random>

#include "session.h"

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
  for (const Subject& subject : subjects) {
    const std::size_t some = std::min<std::size_t>(count, 4);
    subject.mover->stamp(from.first(some), 5);
    subject.mover->use(from.first(some), to.first(some));
    subject.mover->copy(device.stream);
    device.wait(device.stream);
    require(subject.mover->stamped(to.first(some), 5), "pages copied in another layout");
    subject.mover->use(from, to);
  }

  const std::uint64_t images_bytes = count * subjects[0].mover->image_stride();
  const Buffer packed(device, images_bytes);
  const auto tokens = count * kPageSize;
  const struct {
    const char* name;
    double bytes;
    std::function<void(Mover&, std::size_t)> work;
  } kernels[] = {{"rows written", 2.0 * tokens * 2 * kRowBytes,
                  [&](Mover& mover, std::size_t call) {
                    mover.rows(Kernel::rows_scatter, static_cast<std::uint32_t>(call % shape.layers), tokens, packed.at,
                               device.stream);
                  }},
                 {"rows read", 2.0 * tokens * 2 * kRowBytes,
                  [&](Mover& mover, std::size_t call) {
                    mover.rows(Kernel::rows_gather, static_cast<std::uint32_t>(call % shape.layers), tokens, packed.at,
                               device.stream);
                  }},
                 {"pages copied", 2.0 * static_cast<double>(count * shape.page_bytes()),
                  [&](Mover& mover, std::size_t) { mover.copy(device.stream); }},
                 {"images packed", 2.0 * static_cast<double>(count * shape.page_bytes()),
                  [&](Mover& mover, std::size_t) { mover.images(Kernel::image_gather, packed.at, device.stream); }},
                 {"images unpacked", 2.0 * static_cast<double>(count * shape.page_bytes()),
                  [&](Mover& mover, std::size_t) { mover.images(Kernel::image_scatter, packed.at, device.stream); }}};
  for (const auto& kernel : kernels) {
    double best_fixed = 0, ours = 0;
    std::string line_name;
    for (const Subject& subject : subjects) {
      const Range seconds = session.time_on_stream(1, [&](std::size_t call) { kernel.work(*subject.mover, call); });
      const std::string name =
          fmt::format("{}, pool of {}: {}", kernel.name, size_text(pages * shape.page_bytes()), subject.name);
      const Line& line = session.rate(name, kernel.bytes, seconds, session.device_copy);
      if (&subject == &subjects[0]) {
        ours = line.value.median;
        line_name = name;
      } else if (&subject != &subjects[3]) {  // page by page is no layout that attention kernels take
        best_fixed = std::max(best_fixed, line.value.median);
      }
    }
    session.at_least("A6", ours / best_fixed, kDemand,
                     fmt::format("{:.3f} of fixed ({})", ours / best_fixed, line_name));
  }
}

}  // namespace

void measure_layouts(Session& session) {
  session.need_rooflines(false);
  Device& device = *session.device();
  const std::uint64_t large = device.free_bytes() / 5 * 2;
  const bool twice = !device.fake && large >= 2 * session.scale().pool && session.report.budget >= 120;
  session.begin("B7 elastic and fixed pools", 24, twice ? 40 : 20);
  tax(session, session.scale().pool);
  // Beyond what the device's address translation holds at once.
  if (twice) tax(session, large);
}

}  // namespace canopy::bench::gpu
