#pragma once

#include <shell/settings.h>

#include <string>

namespace canopy::inspector {

/// Returns $XDG_CONFIG_HOME/canopy/inspector.ini, or that file below $HOME/.config; empty if neither variable names a
/// folder.
std::string settings_path();
/// Reads a file. If it cannot be read, returns the default settings.
Settings load_settings(const std::string& path);
/// Writes a file, completely or not at all. Returns false if it could not be written, which is no error: the next run
/// then starts like this one.
bool save_settings(const std::string& path, const Settings& settings);

}  // namespace canopy::inspector
