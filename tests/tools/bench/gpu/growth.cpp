/// A pool that gets memory, a segment at a time, while a model's steps run.
#include <fmt/format.h>

#include <bit>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

struct Steps {
  std::vector<double> step, back;
};

/// Runs steps of memory-bound work, as long as those of a small model. If `grow`, every fourth step begins with one
/// more segment.
Steps steps(Session& session, const Buffer& busy, std::uint32_t segments, std::uint32_t ahead, bool grow) {
  const Device& device = *session.device();
  Pool::Shape shape{.rows = {1024, 1024}, .layers = device.fake ? 2U : 32U};
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
        if (!fine) throw std::runtime_error("the store found no memory for a segment although memory is free");
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
  const Device& device = *session.device();
  const Buffer busy(device, session.scale().flushed * 2);
  const auto segments = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(device.free_bytes() / 4 / session.scale().segment, 4, device.fake ? 8 : 64));
  const Steps still = steps(session, busy, segments, 1, false);
  const Steps ahead = steps(session, busy, segments, 1, true);
  const Steps bare = steps(session, busy, segments, 0, true);
  const std::string each =
      fmt::format("{} segments of {}", segments - 1, quantity(session.scale().segment, Unit::bytes));
  // Adds a row and returns the 99th percentile.
  const auto add = [&](const std::string& name, std::vector<double> samples) {
    const Spread spread = tenths_of(samples);
    std::sort(samples.begin(), samples.end());
    const double at = samples[static_cast<std::size_t>(0.99 * static_cast<double>(samples.size() - 1) + 0.5)];
    session.time(name, spread, fmt::format("this thread's clock, 99 %: {:.3f} ms", 1e3 * at));
    return at;
  };
  const double still_step = add("a step, pool as it is", still.step);
  const double longer = add("a step, a segment more every fourth", ahead.step) / still_step;
  const double held = add("back(), memory available, " + each, ahead.back);
  const double ready = add("back(), memory taken first, " + each, bare.back);
  session.at_most("growth", ready, 30e-3, fmt::format("{:.2f} ms at 99 %, memory taken first", 1e3 * ready));
  session.at_most("growth under load", held, 1e-3,
                  fmt::format("back() holds the thread {:.3f} ms at 99 %", 1e3 * held));
  session.at_most("growth under load", longer, 1.02, fmt::format("steps {:.3f} x at 99 %", longer));
}

}  // namespace canopy::bench::gpu
