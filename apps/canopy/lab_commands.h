#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lab/comparison.h>
#include <workload/mooncake_line.h>
#include "commands.h"

namespace canopy::app {

/// The trace or workload that a command of the lab reads.
struct LabSource {
  std::string trace, workload;
  std::uint64_t block = workload::kMooncakeBlock;  ///< tokens that an id of the trace stands for
  std::optional<std::uint64_t> seed{};
};

struct CompareArguments {
  LabSource source;
  std::string config, json, report;
  std::string page_size, policies = "lru,optimum", capacities;  ///< as in the engine file, with commas between them
  std::string memory, model_config;                             ///< "80GiB,160GiB", and the model's config.json
  std::uint64_t kv_bytes = 0;                                   ///< bytes that a token takes; 0: see model_config
  std::uint64_t warm_up = 0, jobs = 0;                          ///< 0 jobs: as many as there are cores
  double flop_depth = 8192;
  bool blocks = false;
  std::vector<std::string> by, assignments;
};

struct CurveArguments {
  LabSource source;
  std::string page_sizes = "16", capacities, pool, json;
  std::uint64_t warm_up = 0;
  double sample = 1;  ///< share of the units that are looked at
  bool blocks = false, replay = true;
};

/// `canopy compare` and `canopy curve`.
void add_lab(CLI::App& program, const PluginFolders& folders, int& status);

int compare_policies(const CompareArguments& arguments, const PluginFolders& folders);
int draw_curve(const CurveArguments& arguments, const PluginFolders& folders);

/// A comparison as tables and sentences; for each kind in `by` also the hit rates of its slices, or of "flops".
void print(const lab::Comparison& comparison, const std::vector<std::string>& by, const Terminal& terminal);

}  // namespace canopy::app
