/// B9 and B10: a pool that grows while a model's steps run, and a pool that is drained by moving its pages.
#include <fmt/format.h>

#include <bit>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

constexpr std::uint32_t kRowBytes = 1024, kLayers = 32;
constexpr Units kPageSize = 16;

Pool::Shape shape_for(const Session& session) {
  return {.rows = {kRowBytes, kRowBytes}, .layers = session.device()->fake ? 2 : kLayers, .page_size = kPageSize};
}

double share_of(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
}

struct Steps {
  std::vector<double> step, back;
};

/// Steps of memory-bound work, as long as those of a small model. If `grow`, every fourth begins with one more segment.
Steps steps(Session& session, const Buffer& busy, std::uint32_t segments, std::uint32_t ahead, bool grow) {
  Device& device = *session.device();
  Pool::Shape shape = shape_for(session);
  shape.segment_pages = static_cast<std::uint32_t>(
      std::bit_floor(std::max<std::uint64_t>(session.scale().segment / shape.page_bytes(), 1)));
  shape.pages = std::uint64_t{shape.segment_pages} * segments;
  shape.ahead = ahead;
  shape.backed = 1;
  Pool pool(session, shape);
  const std::size_t copies = device.fake ? 2 : 32;
  constexpr std::uint32_t kEvery = 4;
  Steps took;
  std::uint32_t backed = pool.backed();
  for (std::uint32_t i = 0; i < kEvery * (segments - 1); ++i)
    took.step.push_back(seconds_of([&] {
      if (grow && i % kEvery == 0) {
        bool fine = false;
        took.back.push_back(seconds_of([&] { fine = pool.store().back(backed); }));
        if (!fine) throw std::runtime_error("the store found no memory for a segment, with memory free");
        ++backed;
      }
      for (std::size_t n = 0; n < copies; ++n)
        device.copy(busy.at + busy.bytes / 2, busy.at, busy.bytes / 2, device.stream);
      device.wait(device.stream);
    }));
  if (!grow) return took;
  std::vector<Page> last(1, (backed - 1) * pool.store().view().segment_pages);
  pool.mover().stamp(last, 9);
  require(pool.mover().stamped(last, 9), "pages of a segment that came while steps ran");
  pool.check();
  return took;
}

}  // namespace

void measure_growth(Session& session) {
  Device& device = *session.device();
  session.begin("B9 growth under load", 14, 1);
  const Buffer busy(device, session.scale().flushed * 2);
  const auto segments = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(device.free_bytes() / 4 / session.scale().segment, 4, device.fake ? 8 : 64));
  const Steps still = steps(session, busy, segments, 1, false);
  const Steps ahead = steps(session, busy, segments, 1, true);
  const Steps bare = steps(session, busy, segments, 0, true);
  const std::string each = fmt::format("{} segments of {}", segments - 1, size_text(session.scale().segment));
  session.row("a step, pool as it is", Kind::time, tenths_of(still.step),
              "this thread's clock, 99 %: " + fmt::format("{:.3f} ms", 1e3 * share_of(still.step, 0.99)));
  session.row("a step, a segment more every fourth", Kind::time, tenths_of(ahead.step),
              fmt::format("99 %: {:.3f} ms", 1e3 * share_of(ahead.step, 0.99)));
  const double held = share_of(ahead.back, 0.99), ready = share_of(bare.back, 0.99);
  session.row("back(), memory at hand, " + each, Kind::time, tenths_of(ahead.back),
              fmt::format("99 %: {:.3f} ms", 1e3 * held));
  session.row("back(), memory taken first, " + each, Kind::time, tenths_of(bare.back),
              fmt::format("99 %: {:.3f} ms", 1e3 * ready));
  const double longer = share_of(ahead.step, 0.99) / share_of(still.step, 0.99);
  session.at_most("A7", ready, 30e-3, fmt::format("{:.2f} ms at 99 %, memory taken first", 1e3 * ready));
  session.at_most("A8", held, 1e-3, fmt::format("back() holds the thread {:.3f} ms at 99 %", 1e3 * held));
  session.at_most("A8", longer, 1.02, fmt::format("steps {:.3f} x at 99 %", longer));
}

void measure_drain(Session& session) {
  session.begin("B10 draining by moving", 10, 1);
  session.need_rooflines(false);
  Device& device = *session.device();
  Pool::Shape shape = shape_for(session);
  constexpr std::uint64_t kBytes = 10'000'000'000;
  const std::uint64_t bytes = std::min(device.fake ? session.scale().moved : kBytes, device.free_bytes() / 3);
  const std::size_t count = std::max<std::uint64_t>(bytes / shape.page_bytes(), 1);
  shape.pages = 2 * count;
  Pool pool(session, shape);
  const auto from = pool.next(count), to = pool.next(count);
  const std::size_t some = std::min<std::size_t>(count, 64);
  pool.mover().stamp(from.last(some), 10);
  pool.store().copy(from, to);
  pool.check();
  require(pool.mover().stamped(to.last(some), 10), "pages that were drained");
  const Spread seconds = session.time_on_stream(1, [&](std::size_t) { pool.store().copy(from, to); });
  pool.check();
  const double moved = static_cast<double>(count * shape.page_bytes());
  session.rate(fmt::format("{} pages moved ({})", count, size_text(count * shape.page_bytes())), 2 * moved, seconds,
               session.device_copy, fmt::format("{:.2f} ms", 1e3 * seconds.median));
  const double whole = seconds.median * static_cast<double>(kBytes) / moved;
  session.at_most("A9", whole, 10e-3, fmt::format("10 GB of pages in {:.2f} ms of the device", 1e3 * whole));
}

}  // namespace canopy::bench::gpu
