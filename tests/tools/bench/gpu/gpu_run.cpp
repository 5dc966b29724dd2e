#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "gpu_bench.h"
#include "session.h"

namespace canopy::bench::gpu {

// The measurements in the files of this folder.
void measure_device_copy(Session& session);
void measure_bus_copies(Session& session);
void measure_rows_written(Session& session);
void measure_rows_read(Session& session);
void measure_page_copies(Session& session);
void measure_images(Session& session);
void measure_bus(Session& session);
void measure_beside(Session& session);
void measure_layouts(Session& session);
void measure_memory_calls(Session& session);
void measure_growth(Session& session);
void measure_draining(Session& session);
void measure_allocators(Session& session);
void measure_host_memory(Session& session);
void measure_shrinking(Session& session);
void measure_demotion(Session& session);
/// Returns the seconds in which the store's plugin opens and finds that there is no driver, several times, each in a
/// process of its own. REQUIRES: no other thread runs, and this process has not opened the plugin.
std::vector<double> seconds_to_decline(const std::filesystem::path& plugin);

namespace {

enum class Needs { nothing, gpu, device_copy, bus_copies };
struct Section {
  const char *name, *about;
  Needs needs;     ///< a GPU, and figures of it for comparison
  double seconds;  ///< seconds of the usual budget
  void (*measure)(Session&);
};
constexpr const char *kRooflines = "rooflines", *kDeclining = "declining";
constexpr double kRooflineSeconds = 6;
constexpr Section kSections[] = {
    {"rows-written", "rows of one layer, packed on the device, to pages", Needs::device_copy, 24, measure_rows_written},
    {"rows-read", "rows of one layer from pages, packed on the device", Needs::device_copy, 24, measure_rows_read},
    {"page-copies", "whole pages in all layers, to other pages", Needs::device_copy, 18, measure_page_copies},
    {"page-images", "whole pages in all layers, packed on the device", Needs::device_copy, 18, measure_images},
    {"bus", "page images between the pool and the host", Needs::bus_copies, 24, measure_bus},
    {"bus-beside-work", "the same beside a memory-bound kernel", Needs::bus_copies, 14, measure_beside},
    {"layouts", "elastic and fixed pools", Needs::device_copy, 24, measure_layouts},
    {"memory-calls", "the driver's calls that put memory behind addresses", Needs::gpu, 20, measure_memory_calls},
    {"growth", "a pool that grows while steps run", Needs::gpu, 14, measure_growth},
    {"draining", "a pool that is drained by moving its pages", Needs::device_copy, 10, measure_draining},
    {"page-numbers", "allocators, on the CPU", Needs::nothing, 6, measure_allocators},
    {"host-memory", "128 MiB of the host", Needs::nothing, 10, measure_host_memory},
    {"shrinking", "pages that the CPU relocates when a pool shrinks", Needs::nothing, 10, measure_shrinking},
    {"demotion", "an eviction that is copied down to the host tier", Needs::bus_copies, 8, measure_demotion}};

/// Seconds of all sections together.
constexpr double kUsual = 218;

struct Wanted {
  const char *id, *demand, *elsewhere;  ///< elsewhere: may be null (these sections measure it)
};
constexpr Wanted kWanted[] = {
    {"pages", "page copy and image kernels >= 0.92 of device copy, from 256 MiB moved", nullptr},
    {"rows", "rows >= 512 B: >= 0.85, 256 B: >= 0.75 of device copy, from 64 MiB moved", nullptr},
    {"scattered copies", "page copy and image kernels >= the best scattered copy of the driver", nullptr},
    {"decode writes", "decode-size writes <= 1.1 x one plain copy of as many bytes", nullptr},
    {"bus", "D2H and H2D >= 0.93 of pinned copies for images >= 64 KiB, >= 0.85 below", nullptr},
    {"bus beside work", "D2H at full rate slows a memory-bound kernel by <= 5 %", nullptr},
    {"elastic pools", "elastic >= 0.98 of fixed in every kernel", nullptr},
    {"growth", "no growth fails while memory is free; a segment ready <= 30 ms", nullptr},
    {"growth under load", "back() holds the thread <= 1 ms at 99 %; steps at 99 % <= 1.02 x while growing", nullptr},
    {"draining", "10 GB of pages drained <= 10 ms of the GPU", nullptr},
    {"relocation", "the index relocates up to a quarter of 262,144 pages in <= 1 ms", nullptr},
    {"shrinking", "90 % -> 25 %: held/live <= 1.05 with <= 30 % of live pages moved", nullptr},
    {"page numbers", "allocators <= 50 ns a page", nullptr},
    {"sanitizers", "sanitizer 0 findings, fuzz 0 differences, 100 cycles 0 bytes lost", "tests/gpu/run_all"},
    {"declining", "without a GPU the plugin opens and declines in <= 5 ms", nullptr},
    {"demotion call", "an eviction of 1,024 pages that are copied down holds the engine <= 20 us", nullptr},
    {"demotion", "those pages reach the host at >= 0.85 of a pinned copy", nullptr}};

std::vector<Demand> judge(const Session& session) {
  std::vector<Demand> demands;
  for (const Wanted& wanted : kWanted) {
    Demand& demand = demands.emplace_back(Demand{wanted.id, wanted.demand, {}});
    const auto found = session.findings.find(wanted.id);
    if (found == session.findings.end()) {
      demand.measured = wanted.elsewhere    ? std::string("measured elsewhere: ") + wanted.elsewhere
                        : !session.device() ? "no GPU was available"
                                            : "not among the sections or sizes of this run";
      continue;
    }
    demand.measured = found->second.what;
    if (session.report.gpu->fake && found->second.on_gpu) demand.measured += "; of a fake device";
    else demand.verdict = found->second.margin >= 1 ? Demand::Verdict::met : Demand::Verdict::missed;
  }
  return demands;
}

void describe(Gpu& gpu, const Device& device) {
  gpu.device = device.name;
  gpu.fake = device.fake;
  gpu.driver_version = device.driver_version;
  // The attributes of the clock rates, which have no names in driver_abi.h.
  gpu.clock_khz = device.attribute(static_cast<cuda::DeviceAttribute>(13));
  gpu.memory_clock_khz = device.attribute(static_cast<cuda::DeviceAttribute>(36));
  gpu.free_bytes = device.free_bytes();
  gpu.total_bytes = device.total_bytes;
}

/// Measures the rates for comparison, unless that was done.
void measure_rooflines(Session& session, Needs needs) {
  if (needs >= Needs::device_copy && session.device_copy == 0) {
    session.begin(kRooflines, kRooflineSeconds, true);
    measure_device_copy(session);
  }
  if (needs == Needs::bus_copies && session.to_host == 0) {
    session.begin(kRooflines, kRooflineSeconds, true);
    measure_bus_copies(session);
  }
}

}  // namespace

Result<Report> run(const Options& options, const std::function<Registry()>& load, const Progress& progress) {
  const auto wanted = [&](std::string_view section) { return options.only.empty() || options.only == section; };
  std::string names = fmt::format("{}, {}", kRooflines, kDeclining);
  bool known = wanted(kRooflines) || wanted(kDeclining);
  for (const Section& section : kSections) {
    names += fmt::format(", {}", section.name);
    known = known || wanted(section.name);
  }
  if (!known)
    return Error{fmt::format("canopy-dev bench gpu: no section is called '{}'; there are {}", options.only, names)};

  Report report;
  Gpu& gpu = report.gpu.emplace();
  gpu.budget = options.budget;
  const double started = now();
  const auto attempt = [&](const char* name, auto&& work) {
    try {
      work();
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("{}: {}", name, error.what()));
    }
  };
  std::vector<double> declined;
  if (wanted(kDeclining))
    attempt(kDeclining, [&] { declined = seconds_to_decline(own_plugin_folder() / "cuda_store.so"); });
  auto device = Device::open(gpu.why);
  if (device) describe(gpu, *device);
  std::vector<const Section*> sections;
  for (const Section& section : kSections)
    if (wanted(section.name) && (device || section.needs == Needs::nothing)) sections.push_back(&section);
  if (sections.empty() && !device && !wanted(kDeclining))
    return Error{fmt::format("canopy-dev bench gpu: {} is measured on a GPU, and there is none here: {}", options.only,
                             gpu.why)};
  const Registry registry = load();
  Session session(report, registry, std::move(device), options.budget);
  session.share = options.budget / kUsual;
  if (session.device() && wanted(kRooflines))
    attempt(kRooflines, [&] { measure_rooflines(session, Needs::bus_copies); });
  for (std::size_t i = 0; i < sections.size() && !report.incomplete; ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(sections.size()), report.rows.size());
    const Section& section = *sections[i];
    if (options.stopped && options.stopped()) report.incomplete = true;
    else
      attempt(section.name, [&] {
        measure_rooflines(session, section.needs);
        session.begin(fmt::format("{}: {}", section.name, section.about), section.seconds,
                      section.needs != Needs::nothing);
        section.measure(session);
      });
  }
  if (!declined.empty()) {
    session.begin(fmt::format("{}: the cuda plugin without a driver", kDeclining), 1, false);
    const Spread range = tenths_of(std::move(declined));
    session.time("the cuda plugin opens and declines", range, "each in a process of its own");
    session.at_most(kDeclining, range.median, 5e-3, fmt::format("{:.2f} ms", 1e3 * range.median));
  }
  report.demands = judge(session);
  gpu.took = now() - started;
  return report;
}

}  // namespace canopy::bench::gpu
