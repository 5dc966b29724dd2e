#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace canopy::app {

inline constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

/// Returns a validator for whole numbers in a range. CLI::Range would also accept 1e3, and word the range differently.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);

CLI::Option* block_size(CLI::App& command, std::uint64_t& block);

/// Lets an option be repeated, with one value each time.
CLI::Option* repeated(CLI::Option* option);

}  // namespace canopy::app
