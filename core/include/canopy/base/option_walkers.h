#pragma once

#include <canopy/base/components.h>
#include <canopy/base/yaml_document.h>
#include <canopy/options.h>

#include <string>
#include <vector>

namespace canopy {

// Each function walks over the options once. `components` may be null (no option is a component).

/// Returns the options as YAML: `{ protect_after: 2 }`, or "{}".
std::string dump_options(const Walk& walk, const Components* components = nullptr);
/// Returns the options as YAML, with the values that `node` sets.
std::string dump_options(const Walk& walk, const YamlNode& node);
/// Returns the options as YAML with one line for each option, and for each entry of an option.
std::string dump_lines(const Walk& walk, const Components* components);

/// An option in the form of `canopy plugins describe`. An option of an entry is called `streams.<name>.row_bytes`.
struct OptionHelp {
  std::string name, range, value, help;  ///< `value`: the default; empty: the option is required
};
/// Returns all options.
std::vector<OptionHelp> help_of(const Walk& walk, const Components* components = nullptr);

/// Returns an error message about the first value that is out of range or conflicts with another one: "start = 9 is
/// more than its capacity, 8". Empty if all values are valid. For options that were not read from a file.
std::string flaw_of_options(const Walk& walk);

/// Returns a number as a file has it, in the largest unit in which it is a whole number: "64KiB", "50ms".
std::string quantity(std::uint64_t value, Unit unit);
/// Returns the range of a whole number, for messages and help: "1..64", "at least 1".
std::string range_of(std::uint64_t min, std::uint64_t max, Unit unit = Unit::none);

}  // namespace canopy
