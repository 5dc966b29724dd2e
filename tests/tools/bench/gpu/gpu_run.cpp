#include <fmt/format.h>

#include "gpu_bench.h"
#include "session.h"

namespace canopy::bench::gpu {

// The measurements in the files of this folder.
void measure_device_copy(Session& session);
void measure_bus_copies(Session& session);
void measure_kernels(Session& session);
void measure_bus(Session& session);
void measure_beside(Session& session);
void measure_growth(Session& session);
void measure_demotion(Session& session);

namespace {

struct Section {
  const char *name, *about;
  double seconds;  ///< seconds of the usual budget
  void (*measure)(Session&);
};
constexpr const char* kRooflines = "rooflines";
constexpr double kRooflineSeconds = 12;
constexpr Section kSections[] = {{"kernels", "the store's kernels over elastic and fixed pools", 60, measure_kernels},
                                 {"bus", "page images between the pool and the host", 24, measure_bus},
                                 {"bus-beside-work", "the same beside a memory-bound kernel", 14, measure_beside},
                                 {"growth", "a pool that grows while steps run", 14, measure_growth},
                                 {"demotion", "an eviction that is copied down to the host tier", 8, measure_demotion}};

/// Seconds of all sections together.
constexpr double kUsual = 132;

struct Wanted {
  const char *id, *demand;
};
constexpr Wanted kWanted[] = {
    {"pages", "page copy and image kernels >= 0.92 of device copy, from 256 MiB moved"},
    {"rows", "rows of 1 KiB: >= 0.85, 256 B: >= 0.75 of device copy, from 64 MiB moved"},
    {"scattered copies", "page copies >= the driver's own batch of as many pieces"},
    {"decode writes", "decode-size writes <= 1.1 x one plain copy of as many bytes"},
    {"bus", "D2H and H2D >= 0.93 of pinned copies for images >= 64 KiB, >= 0.85 below"},
    {"bus beside work", "D2H at full rate slows a memory-bound kernel by <= 5 %"},
    {"elastic pools", "elastic >= 0.98 of fixed in every kernel"},
    {"growth", "no growth fails while memory is free; a segment ready <= 30 ms"},
    {"growth under load", "back() holds the thread <= 1 ms at 99 %; steps at 99 % <= 1.02 x while growing"},
    {"draining", "10 GB of pages drained <= 10 ms of the GPU"},
    {"demotion call", "an eviction of 1,024 pages that are copied down holds the engine <= 20 us"},
    {"demotion", "those pages reach the host at >= 0.85 of a pinned copy"}};

std::vector<Demand> judge(const Session& session) {
  std::vector<Demand> demands;
  for (const Wanted& wanted : kWanted) {
    Demand& demand = demands.emplace_back(Demand{wanted.id, wanted.demand, {}});
    const auto found = session.findings.find(wanted.id);
    if (found == session.findings.end()) {
      demand.measured = "not among the sections or sizes of this run";
      continue;
    }
    demand.measured = found->second.what;
    if (session.report.gpu->fake) demand.measured += "; of a fake device";
    else demand.verdict = found->second.margin >= 1 ? Demand::Verdict::met : Demand::Verdict::missed;
  }
  return demands;
}

void describe(Gpu& gpu, const Device& device) {
  gpu.device = device.name;
  gpu.fake = device.fake;
  gpu.driver_version = device.driver_version;
  gpu.free_bytes = device.free_bytes();
  gpu.total_bytes = device.total_bytes;
}

}  // namespace

Result<Report> run(const Options& options, const std::function<Registry()>& load, const Progress& progress) {
  const auto wanted = [&](std::string_view section) { return options.only.empty() || options.only == section; };
  std::string names = kRooflines;
  std::vector<const Section*> sections;
  for (const Section& section : kSections) {
    names += fmt::format(", {}", section.name);
    if (wanted(section.name)) sections.push_back(&section);
  }
  if (sections.empty() && !wanted(kRooflines))
    return Error{fmt::format("canopy-dev bench gpu: no section is called '{}'; there are {}", options.only, names)};

  Report report;
  Gpu& gpu = report.gpu.emplace();
  gpu.budget = options.budget;
  const double started = now();
  std::unique_ptr<Device> device;
  try {
    device = std::make_unique<Device>();
  } catch (const std::exception& error) {
    return Error{std::string("canopy-dev bench gpu: no GPU was available: ") + error.what()};
  }
  describe(gpu, *device);
  const Registry registry = load();
  Session session(report, registry, std::move(device), options.budget);
  session.share = options.budget / kUsual;
  const auto attempt = [&](const char* name, const char* about, double seconds, auto&& work) {
    session.begin(fmt::format("{}: {}", name, about), seconds);
    try {
      work(session);
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("{}: {}", name, error.what()));
    }
  };
  attempt(kRooflines, "the driver's own copies of one large piece", kRooflineSeconds, [](Session& with) {
    measure_device_copy(with);
    measure_bus_copies(with);
  });
  for (std::size_t i = 0; i < sections.size() && !report.incomplete; ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(sections.size()), report.rows.size());
    const Section& section = *sections[i];
    if (options.stopped && options.stopped()) report.incomplete = true;
    else attempt(section.name, section.about, section.seconds, section.measure);
  }
  report.demands = judge(session);
  gpu.took = now() - started;
  return report;
}

}  // namespace canopy::bench::gpu
