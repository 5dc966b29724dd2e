#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lab/comparison.h>
#include "commands.h"

namespace canopy::app {

/// The trace or workload that a command of the lab reads.
struct LabSource {
  std::string trace, workload;
  std::uint64_t block = 0;  ///< tokens per id of the trace; 0: as defined by its format
  std::optional<std::uint64_t> seed{};
};

struct CompareArguments {
  LabSource source;
  std::string config, json, report;
  std::string page_size, policies = "lru,optimum", capacities;  ///< as in the engine file, separated by commas
  std::string memory, model_config;                             ///< "80GiB,160GiB", and the model's config.json
  std::uint64_t kv_bytes = 0;                                   ///< bytes of a token; 0: see model_config
  std::uint64_t warm_up = 0, jobs = 0;                          ///< 0 jobs: the number of cores
  double flop_depth = 8192;
  bool blocks = false;
  std::vector<std::string> by, assignments;
};

struct CurveArguments {
  LabSource source;
  std::string page_sizes = "16", capacities, pool, json;
  std::uint64_t warm_up = 0;
  double sample = 1;  ///< share of the units that are sampled
  bool blocks = false, replay = true;
};

/// Adds `canopy compare` and `canopy curve`.
void add_lab(CLI::App& program, const PluginFolders& folders, int& status);

int compare_policies(CompareArguments arguments, const PluginFolders& folders);
int draw_curve(CurveArguments arguments, const PluginFolders& folders);

/// Prints a comparison as tables and sentences; for each kind in `by` also the hit rates of its slices, or those by
/// "flops".
void print(const lab::Comparison& comparison, const std::vector<std::string>& by, const Terminal& terminal);

}  // namespace canopy::app
