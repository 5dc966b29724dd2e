#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace canopy::app {

inline constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

/// Returns a validator for whole numbers in a range, in decimal digits. CLI::Range would also accept 1e3 and 0100 (as
/// 64), and word the range differently.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);
/// Returns a validator for numbers in a range. CLI::Range would also accept nan.
CLI::Validator real(double least, double most);

/// Returns a transformer from names to values. Help and completion take the names from its description.
template <class Value>
CLI::Validator one_of(const std::map<std::string, Value>& values) {
  std::string names;
  for (const auto& [name, value] : values) names += (names.empty() ? "" : ",") + name;
  return CLI::CheckedTransformer(values).description("{" + names + "}");
}

/// Adds --block-size.
CLI::Option* block_size(CLI::App& command, std::uint64_t& block);

/// Lets an option be repeated, with one value each time.
CLI::Option* repeated(CLI::Option* option);

}  // namespace canopy::app
