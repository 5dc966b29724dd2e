/// The cost of elastic memory. The same kernels over the store's pool, in segments of mapped memory, and over the
/// same pages in one allocation that never changes, laid out in three ways.
#include <fmt/format.h>

#include <bit>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

using cuda::Kernel;

constexpr std::uint32_t kRowBytes = 1024, kLayers = 32;
constexpr Units kPageSize = 16;
constexpr double kDemand = 0.98;

enum class Layout { segments, layers, blocks };
constexpr const char* kNames[] = {"fixed, segment-major", "fixed, layer by layer", "fixed, page by page"};

/// Returns the store's view of the same number of pages, with its rows elsewhere.
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

/// Times each kernel in each layout, in a pool of about `wanted` bytes. The elastic pool comes first and the layout
/// page by page last: attention kernels do not support it, so it is not judged.
void compare(Session& session, std::uint64_t wanted) {
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
  const auto tokens = count * kPageSize;
  const struct {
    const char* name;
    Kernel kernel;
  } kernels[] = {{"rows written", Kernel::rows_scatter},
                 {"rows read", Kernel::rows_gather},
                 {"pages copied", Kernel::page_copy},
                 {"images packed", Kernel::image_gather},
                 {"images unpacked", Kernel::image_scatter}};
  for (const auto& [name, kernel] : kernels) {
    const bool rows = kernel == Kernel::rows_scatter || kernel == Kernel::rows_gather;
    const std::uint64_t bytes = 2 * (rows ? std::uint64_t{tokens} * 2 * kRowBytes : count * shape.page_bytes());
    double best_fixed = 0, ours = 0;
    std::string of_ours;
    for (const Subject& subject : subjects) {
      const Spread seconds = session.time_on_stream(1, [&](std::size_t call) {
        const auto layer = static_cast<std::uint32_t>(call % shape.layers);
        if (rows) subject.mover->rows(kernel, layer, tokens, packed.at, device.stream);
        else if (kernel == Kernel::page_copy) subject.mover->copy(device.stream);
        else subject.mover->images(kernel, packed.at, device.stream);
      });
      session.rate(fmt::format("{}, pool of {}: {}", name, size_text(pages * shape.page_bytes()), subject.name), bytes,
                   seconds, session.device_copy);
      const double rate = session.last().ours.median;
      if (&subject == &subjects.front()) ours = rate, of_ours = session.last().name;
      else if (&subject != &subjects.back()) best_fixed = std::max(best_fixed, rate);
    }
    session.at_least("elastic pools", ours / best_fixed, kDemand,
                     fmt::format("{:.3f} of fixed ({})", ours / best_fixed, of_ours));
  }
}

}  // namespace

void measure_layouts(Session& session) {
  const Device& device = *session.device();
  const std::uint64_t large = device.free_bytes() / 5 * 2;
  const bool twice = !device.fake && large >= 2 * session.scale().pool && session.report.gpu->budget >= 120;
  session.cells(twice ? 40 : 20);
  compare(session, session.scale().pool);
  // Larger than the reach of the device's address translation.
  if (twice) compare(session, large);
}

}  // namespace canopy::bench::gpu
