#pragma once

#include <canopy/config/option_walkers.h>
#include <canopy/config/yaml_document.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace canopy {

/// As a maximum it means that there is none.
inline constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

/// An option's help behind a message about it, or nothing.
std::string in_brackets(std::string_view help);

/// What the user wrote, for a message.
std::string shown(const YamlNode& value);

}  // namespace canopy
