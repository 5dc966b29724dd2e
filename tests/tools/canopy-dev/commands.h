#pragma once

#include "program.h"

namespace canopy::app {

/// `canopy-dev bench`: the hot paths beside their peers; `bench gpu` the GPU's store.
void add_bench(CLI::App& program, const PluginFolders& folders, int& status);
/// `canopy-dev check`: engines under random requests and faults, or a program that such a run has written.
void add_check(CLI::App& program, const PluginFolders& folders, int& status);
/// `canopy-dev verify`: the index beside recorded runs of SGLang's class.
void add_verify(CLI::App& program, const PluginFolders& folders, int& status);

}  // namespace canopy::app
