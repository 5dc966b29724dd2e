#pragma once

#include <canopy/base/option_walkers.h>
#include <canopy/base/yaml_document.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace canopy {

/// The value of a maximum that stands for no maximum.
inline constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

/// Returns " (help)", the end of a message about an option; empty if there is no help.
std::string in_brackets(std::string_view help);

/// Returns a value as the user wrote it, for a message.
std::string shown(const YamlNode& value);

}  // namespace canopy
