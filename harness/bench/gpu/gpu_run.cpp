#include <fmt/format.h>

#include <algorithm>

#include "session.h"

namespace canopy::bench::gpu {
namespace {

struct Section {
  const char* name;
  bool needs_gpu;
  void (*measure)(Session&);
};
constexpr Section kSections[] = {
    {"B1", true, measure_rows_write}, {"B2", true, measure_rows_read},    {"B3", true, measure_page_copy},
    {"B4", true, measure_images},     {"B5", true, measure_bus},          {"B6", true, measure_beside},
    {"B7", true, measure_layouts},    {"B8", true, measure_vmm},          {"B9", true, measure_growth},
    {"B10", true, measure_drain},     {"B11", false, measure_allocators}, {"B12", false, measure_host_arena},
    {"B13", false, measure_shrinking}};

/// Seconds that the sections ask for, all together, where nobody says otherwise.
constexpr double kUsual = 210;

/// B1 is not the beginning of B11.
bool wanted(const Options& options, std::string_view section) {
  return options.only.empty() || options.only == section;
}

void describe(Report& report, const Device& device) {
  report.device = device.name;
  report.fake = device.fake;
  report.driver_version = device.driver_version;
  // Not among the attributes that the store asks for.
  report.clock_khz = device.attribute(static_cast<cuda::DeviceAttribute>(13));
  report.memory_clock_khz = device.attribute(static_cast<cuda::DeviceAttribute>(36));
  report.free_bytes = device.free_bytes();
  report.total_bytes = device.total_bytes;
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
  report.budget = options.budget;
  const double started = now();
  std::vector<double> declined;
  if (wanted(options, "A13")) {
    try {
      declined = seconds_to_decline(own_plugin_folder() / "cuda_store.so");
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("A13: {}", error.what()));
    }
  }
  auto device = Device::open(report.why);
  if (device) describe(report, *device);
  const bool gpu = device != nullptr;
  const auto can = [&](const Section& section) { return wanted(options, section.name) && (gpu || !section.needs_gpu); };
  const auto count = std::count_if(std::begin(kSections), std::end(kSections), can);
  if (count == 0 && !gpu && !wanted(options, "A13"))
    return Error{
        fmt::format("canopy bench gpu: {} is measured on a GPU, and here is none: {}", options.only, report.why)};
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
    if (progress) progress(static_cast<double>(done) / static_cast<double>(count), report.lines.size());
    attempt(section.name, [&] { section.measure(session); });
    ++done;
  }
  if (!declined.empty()) measure_declining(session, std::move(declined));
  report.demands = judge(session);
  report.took = now() - started;
  return report;
}

}  // namespace canopy::bench::gpu
