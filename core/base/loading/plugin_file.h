#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>

#include <filesystem>
#include <memory>

#include "loaded_plugin.h"

namespace canopy {

/// Checks a plugin's file, then maps it. None of its code runs before it is known to be a library of this machine
/// that exports a descriptor. The plugin's path is absolute and without symbolic links. The error is one sentence that
/// fits behind the file's name.
Result<std::shared_ptr<LoadedPlugin>> load_plugin_file(const std::filesystem::path& file, Trust trust);

}  // namespace canopy
