#pragma once

#include <filesystem>
#include <vector>

#include "session.h"

/// What gpu_run.cpp runs beside its table of sections.
namespace canopy::bench::gpu {

/// The driver's own copies of large pieces, which every rate is a share of.
void measure_rooflines(Session& session, bool bus);

/// Seconds in which the store's plugin opens and finds that there is no driver, several times, each in a process of its
/// own. REQUIRES: no other thread runs, and this process has not opened the plugin.
std::vector<double> seconds_to_decline(const std::filesystem::path& plugin);
void measure_declining(Session& session, std::vector<double> seconds);

/// A1 to A13 and T15 as far as the session knows them.
std::vector<Demand> judge(const Session& session);

}  // namespace canopy::bench::gpu
