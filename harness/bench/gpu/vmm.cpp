/// B8: the driver's calls that put memory behind addresses: idle, with a kernel queued, with graphs alive.
#include <fmt/format.h>

#include "session.h"

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
  if (device.attribute(cuda::DeviceAttribute::handle_type_posix_file_descriptor_supported))  // as the store asks for
    properties.requested_handle_types = cuda::MemHandleType::posix_file_descriptor;
  const cuda::MemAccessDesc access{properties.location, cuda::MemAccess::read_write};
  constexpr const char* kCalls[] = {"create", "map", "set_access", "unmap", "release"};
  std::vector<double> took[5];
  DevicePtr at = 0;
  device.check("cuMemAddressReserve", driver.mem_address_reserve(&at, bytes, 0, 0, 0));
  const double end = now() + session.cell();
  while (took[0].size() < session.scale().least || (took[0].size() < session.scale().samples && now() < end)) {
    if (beside == Beside::kernels)
      for (int i = 0; i < (device.fake ? 2 : 200); ++i)  // some milliseconds
        device.copy(busy.at + busy.bytes / 2, busy.at, busy.bytes / 2, device.beside);
    cuda::MemHandle handle = 0;
    std::size_t call = 0;
    const auto timed = [&](auto&& work) {
      cuda::Result result{};
      took[call].push_back(seconds_of([&] { result = work(); }));
      device.check(kCalls[call], result);
      ++call;
    };
    timed([&] { return driver.mem_create(&handle, bytes, &properties, 0); });
    timed([&] { return driver.mem_map(at, bytes, 0, handle, 0); });
    timed([&] { return driver.mem_set_access(at, bytes, &access, 1); });
    timed([&] { return driver.mem_unmap(at, bytes); });
    timed([&] { return driver.mem_release(handle); });
    device.wait(device.beside);
  }
  device.check("cuMemAddressFree", driver.mem_address_free(at, bytes));
  for (std::size_t i = 0; i < std::size(kCalls); ++i)
    session.row(fmt::format("{}, {}, {}", size_text(bytes), kCalls[i], kNames[static_cast<int>(beside)]), Kind::time,
                tenths_of(std::move(took[i])), "this thread's clock");
}

}  // namespace

void measure_vmm(Session& session) {
  Device& device = *session.device();
  session.begin("B8 virtual memory calls", 20, std::size(kSizes) * 3);
  if (!device.attribute(cuda::DeviceAttribute::virtual_memory_management_supported)) {
    session.report.remarks.push_back("B8: this device maps no memory; pools on it have a fixed size.");
    return;
  }
  const Buffer busy(device, session.scale().flushed * 2);
  for (const Beside beside : {Beside::nothing, Beside::kernels, Beside::graphs}) {
    const auto graphs = beside == Beside::graphs ? std::make_unique<Graphs>(device) : nullptr;
    for (const std::uint64_t bytes : kSizes)
      if (!device.fake || bytes <= 8 * kMiB) calls(session, bytes, beside, busy);
  }
}

}  // namespace canopy::bench::gpu
