#pragma once

#include "program.h"

namespace canopy::app {

/// Adds `canopy-dev bench`: times the hot paths next to their peers, and with `bench gpu` the store on a GPU.
void add_bench(CLI::App& program, const PluginFolders& folders, int& status);
/// Adds `canopy-dev check`: runs engines under random requests and faults, or a program that such a run has written.
void add_check(CLI::App& program, const PluginFolders& folders, int& status);
/// Adds `canopy-dev verify`: compares the index with recorded runs of SGLang's class.
void add_verify(CLI::App& program, const PluginFolders& folders, int& status);

}  // namespace canopy::app
