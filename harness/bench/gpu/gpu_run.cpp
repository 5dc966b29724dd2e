#include <fmt/format.h>

#include <algorithm>

#include "gpu_bench.h"
#include "sections.h"

// One line for each section: its name, whether it needs a device, and its function.
#define CANOPY_GPU_SECTIONS(SECTION)      \
  SECTION(B1, true, measure_rows_write)   \
  SECTION(B2, true, measure_rows_read)    \
  SECTION(B3, true, measure_page_copy)    \
  SECTION(B4, true, measure_images)       \
  SECTION(B5, true, measure_bus)          \
  SECTION(B6, true, measure_beside)       \
  SECTION(B7, true, measure_layouts)      \
  SECTION(B8, true, measure_vmm)          \
  SECTION(B9, true, measure_growth)       \
  SECTION(B10, true, measure_drain)       \
  SECTION(B11, false, measure_allocators) \
  SECTION(B12, false, measure_host_arena) \
  SECTION(B13, false, measure_shrinking)  \
  SECTION(B14, true, measure_demotion)

namespace canopy::bench::gpu {

#define CANOPY_DECLARE(name, needs_gpu, measure) void measure(Session& session);
CANOPY_GPU_SECTIONS(CANOPY_DECLARE)

namespace {

struct Section {
  const char* name;
  bool needs_gpu;
  void (*measure)(Session&);
};
constexpr Section kSections[] = {
#define CANOPY_LIST(name, needs_gpu, measure) {#name, needs_gpu, measure},
    CANOPY_GPU_SECTIONS(CANOPY_LIST)};

/// Seconds that the sections of the table ask for, all together.
constexpr double kUsual = 218;

/// The whole name: B1 does not mean B11 too.
bool wanted(const Options& options, std::string_view section) {
  return options.only.empty() || options.only == section;
}

void describe(Gpu& gpu, const Device& device) {
  gpu.device = device.name;
  gpu.fake = device.fake;
  gpu.driver_version = device.driver_version;
  // The clock rates, which have no names in driver_abi.h.
  gpu.clock_khz = device.attribute(static_cast<cuda::DeviceAttribute>(13));
  gpu.memory_clock_khz = device.attribute(static_cast<cuda::DeviceAttribute>(36));
  gpu.free_bytes = device.free_bytes();
  gpu.total_bytes = device.total_bytes;
}

}  // namespace

Result<Report> run(const Options& options, const std::function<Registry()>& load, const Progress& progress) {
  std::string names = "rooflines, A13";
  bool known = options.only.empty() || options.only == "rooflines" || options.only == "A13";
  for (const Section& section : kSections) {
    names += fmt::format(", {}", section.name);
    known = known || options.only == section.name;
  }
  if (!known)
    return Error{fmt::format("canopy bench gpu: no section is called '{}'; there are {}", options.only, names)};

  Report report;
  Gpu& gpu = report.gpu.emplace();
  gpu.budget = options.budget;
  const double started = now();
  std::vector<double> declined;
  if (wanted(options, "A13")) {
    try {
      declined = seconds_to_decline(own_plugin_folder() / "cuda_store.so");
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("A13: {}", error.what()));
    }
  }
  auto device = Device::open(gpu.why);
  if (device) describe(gpu, *device);
  const bool on_gpu = device != nullptr;
  const auto can = [&](const Section& section) {
    return wanted(options, section.name) && (on_gpu || !section.needs_gpu);
  };
  const auto count = std::count_if(std::begin(kSections), std::end(kSections), can);
  if (count == 0 && !on_gpu && !wanted(options, "A13"))
    return Error{fmt::format("canopy bench gpu: {} is measured on a GPU, and here is none: {}", options.only, gpu.why)};
  const Registry registry = load();
  Session session(report, registry, std::move(device), options.budget);
  session.share = options.budget / kUsual;
  const auto attempt = [&](const char* name, auto&& work) {
    try {
      work();
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("{}: {}", name, error.what()));
    }
  };
  if (session.device() && wanted(options, "rooflines")) attempt("rooflines", [&] { measure_rooflines(session, true); });
  std::ptrdiff_t done = 0;
  for (const Section& section : kSections) {
    if (!can(section)) continue;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(count), report.rows.size());
    if (options.stopped && options.stopped()) {
      report.incomplete = true;
      break;
    }
    attempt(section.name, [&] { section.measure(session); });
    ++done;
  }
  if (!declined.empty()) measure_declining(session, std::move(declined));
  report.demands = judge(session);
  gpu.took = now() - started;
  return report;
}

}  // namespace canopy::bench::gpu
