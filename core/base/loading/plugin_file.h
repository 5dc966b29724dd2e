#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>

#include <filesystem>
#include <memory>

#include "loaded_plugin.h"

namespace canopy {

/// Checks the file of a plugin, then maps it. None of its code runs before it is known to be a library for this machine
/// that exports a descriptor. LoadedPlugin::path() is absolute and without symbolic links. The error is a message to
/// follow the name of the file.
Result<std::shared_ptr<LoadedPlugin>> load_plugin_file(const std::filesystem::path& file, Trust trust);

}  // namespace canopy
