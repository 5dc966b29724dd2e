/// Memory behind addresses: the driver's calls (idle, with a kernel queued, with graphs alive), a pool that grows while
/// a model's steps run, and a pool that is drained by moving its pages.
#include <fmt/format.h>

#include <bit>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSizes[] = {2 * kMiB, 8 * kMiB, 32 * kMiB, 64 * kMiB, 128 * kMiB, 256 * kMiB, 512 * kMiB};
constexpr std::size_t kGraphs = 50;

enum class Beside { nothing, kernels, graphs };
constexpr const char* kNames[] = {"idle", "work queued", "50 graphs alive"};

/// Graphs that exist and do nothing.
class Graphs {
 public:
  explicit Graphs(const Device& device) : device_(device), memory_(device, kMiB) {
    for (std::size_t i = 0; i < kGraphs; ++i) {
      cuda::GraphHandle graph = nullptr;
      cuda::GraphExecHandle exec = nullptr;
      device.check("cuStreamBeginCapture",
                   device.driver().stream_begin_capture(device.stream, cuda::CaptureMode::thread_local_mode));
      device.fill(memory_.at, 1, kMiB, device.stream);
      device.check("cuStreamEndCapture", device.driver().stream_end_capture(device.stream, &graph));
      graphs_.push_back(graph);
      device.check("cuGraphInstantiate", device.driver().graph_instantiate_with_flags(&exec, graph, 0));
      execs_.push_back(exec);
      device.check("cuGraphLaunch", device.driver().graph_launch(exec, device.stream));
    }
    device.wait(device.stream);
  }
  ~Graphs() {
    for (const auto exec : execs_) static_cast<void>(device_.driver().graph_exec_destroy(exec));
    for (const auto graph : graphs_) static_cast<void>(device_.driver().graph_destroy(graph));
  }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

 private:
  const Device& device_;
  Buffer memory_;
  std::vector<cuda::GraphHandle> graphs_;
  std::vector<cuda::GraphExecHandle> execs_;
};

void calls(Session& session, std::uint64_t bytes, Beside beside, const Buffer& busy) {
  Device& device = *session.device();
  const cuda::Driver& driver = device.driver();
  cuda::MemAllocationProp properties;
  properties.type = cuda::MemAllocationType::pinned;
  properties.location = {cuda::MemLocationType::device, device.ordinal};
  if (device.attribute(cuda::DeviceAttribute::handle_type_posix_file_descriptor_supported))  // as the store requests
    properties.requested_handle_types = cuda::MemHandleType::posix_file_descriptor;
  const cuda::MemAccessDesc access{properties.location, cuda::MemAccess::read_write};
  DevicePtr at = 0;
  device.check("cuMemAddressReserve", driver.mem_address_reserve(&at, bytes, 0, 0, 0));
  session.repeat([&] {
    if (beside == Beside::kernels)
      for (int i = 0; i < (device.fake ? 2 : 200); ++i)  // a few milliseconds
        device.copy(busy.at + busy.bytes / 2, busy.at, busy.bytes / 2, device.beside);
    cuda::MemHandle handle = 0;
    const auto timed = [&](const char* call, auto&& work) {
      session.timed(fmt::format("{}, {}, {}", size_text(bytes), call, kNames[static_cast<int>(beside)]),
                    [&] { device.check(call, work()); });
    };
    timed("create", [&] { return driver.mem_create(&handle, bytes, &properties, 0); });
    timed("map", [&] { return driver.mem_map(at, bytes, 0, handle, 0); });
    timed("set_access", [&] { return driver.mem_set_access(at, bytes, &access, 1); });
    timed("unmap", [&] { return driver.mem_unmap(at, bytes); });
    timed("release", [&] { return driver.mem_release(handle); });
    device.wait(device.beside);
  });
  device.check("cuMemAddressFree", driver.mem_address_free(at, bytes));
  session.add_timed("this thread's clock");
}

constexpr std::uint32_t kRowBytes = 1024, kLayers = 32;
constexpr Units kPageSize = 16;

Pool::Shape shape_for(const Session& session) {
  return {.rows = {kRowBytes, kRowBytes}, .layers = session.device()->fake ? 2 : kLayers, .page_size = kPageSize};
}

struct Steps {
  std::vector<double> step, back;
};

/// Runs steps of memory-bound work, as long as those of a small model. If `grow`, every fourth step begins with one
/// more segment.
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

void measure_memory_calls(Session& session) {
  Device& device = *session.device();
  session.cells(std::size(kSizes) * 3);
  if (!device.attribute(cuda::DeviceAttribute::virtual_memory_management_supported)) {
    session.report.remarks.push_back("memory-calls: this device cannot map memory; pools on it have a fixed size.");
    return;
  }
  const Buffer busy(device, session.scale().flushed * 2);
  for (const Beside beside : {Beside::nothing, Beside::kernels, Beside::graphs}) {
    const auto graphs = beside == Beside::graphs ? std::make_unique<Graphs>(device) : nullptr;
    for (const std::uint64_t bytes : kSizes)
      if (!device.fake || bytes <= 8 * kMiB) calls(session, bytes, beside, busy);
  }
}

void measure_growth(Session& session) {
  const Device& device = *session.device();
  const Buffer busy(device, session.scale().flushed * 2);
  const auto segments = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(device.free_bytes() / 4 / session.scale().segment, 4, device.fake ? 8 : 64));
  const Steps still = steps(session, busy, segments, 1, false);
  const Steps ahead = steps(session, busy, segments, 1, true);
  const Steps bare = steps(session, busy, segments, 0, true);
  const std::string each = fmt::format("{} segments of {}", segments - 1, size_text(session.scale().segment));
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

void measure_draining(Session& session) {
  const Device& device = *session.device();
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
  const std::uint64_t moved = count * shape.page_bytes();
  session.rate(fmt::format("{} pages moved ({})", count, size_text(moved)), 2 * moved, seconds, session.device_copy,
               fmt::format("{:.2f} ms", 1e3 * seconds.median));
  const double whole = seconds.median * static_cast<double>(kBytes) / static_cast<double>(moved);
  session.at_most("draining", whole, 10e-3, fmt::format("10 GB of pages in {:.2f} ms of the device", 1e3 * whole));
}

}  // namespace canopy::bench::gpu
