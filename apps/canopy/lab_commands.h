#pragma once

#include <canopy/base/yaml_document.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <lab/comparison.h>
#include <replay/replay.h>
#include "commands.h"

namespace canopy::app {

/// The trace or workload that a command of the lab reads.
struct LabSource {
  std::string trace, workload;
  std::uint64_t block = 0;  ///< tokens per id of the trace; 0: as defined by its format
  std::string seeds;        ///< Seeds of the workload: 7, 1,2,3 or 1..5. Empty: the one in its file.
  std::uint64_t seed = 0;   ///< the one to open, out of `seeds`; 0: the one in its file
  YamlNode read = {};       ///< the workload file: prepare() reads it, once for all seeds
};

struct CompareArguments {
  LabSource source;
  std::string config, json, html, requests;
  std::string page_size, policy = "lru,optimum", capacity;  ///< as in the engine file, separated by commas
  std::string memory, model_config;                         ///< "80GiB,160GiB", and the model's config.json
  std::uint64_t kv_bytes = 0;                               ///< bytes of a token; 0: see model_config
  std::uint64_t warm_up = 0, jobs = 0;                      ///< 0 jobs: the number of cores
  double flop_depth = 8192;
  bool blocks = false, curve = false;
  std::vector<std::string> by, assignments;
  replay::Options run{};  ///< the mode, and the options of Mode::timed
  double sample = 1;      ///< for the curve: share of the units that are sampled
  bool replay = true;     ///< for the curve: replay at some of its points
};

/// Adds `canopy compare`.
void add_compare(CLI::App& program, const PluginFolders& folders, int& status);

int compare_policies(CompareArguments arguments, const PluginFolders& folders);
/// Shows the hit rate over capacity under LRU: `canopy compare --curve`. Uses no engine file.
int draw_curve(CompareArguments arguments, const PluginFolders& folders);

/// Prints a comparison as tables and sentences; for each kind in `by` also the hit rates of its slices, or those by
/// "flops".
void print(const lab::Comparison& comparison, const std::vector<std::string>& by, const Terminal& terminal);

}  // namespace canopy::app
