#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace canopy::app {

inline constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

/// Whole numbers of a range. CLI::Range would also take 1e3 and name the range in other words.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);

CLI::Option* block_size(CLI::App& command, std::uint64_t& block);

/// An option that may be repeated, one value each time.
CLI::Option* repeated(CLI::Option* option);

}  // namespace canopy::app
