#include "prints.h"

#include <canopy/helpers/prefix_print.h>

#include <algorithm>

namespace canopy::lab {

Units Cut::units(std::size_t words) const {
  if (partial) return static_cast<Units>((words + unit - 1) / unit);
  return static_cast<Units>((words - std::min<std::size_t>(words, overlap)) / unit);
}

std::uint64_t Cut::tokens(std::uint64_t count, std::uint64_t prompt) const {
  return partial ? std::min(count * unit, prompt) : count * unit;
}

void print_units(const Cut& cut, NamespaceId space, std::span<const std::uint32_t> words,
                 std::vector<std::uint64_t>& prints) {
  prints.resize(cut.units(words.size()));
  std::uint64_t print = first_print(space);
  for (std::size_t i = 0; i < prints.size(); ++i) {
    const auto rest = words.subspan(i * cut.unit);
    const std::size_t count = std::min<std::size_t>(rest.size(), std::size_t{cut.unit} + cut.overlap);
    prints[i] = print = XXH3_64bits_withSeed(rest.data(), count * sizeof(std::uint32_t), print);
  }
}

}  // namespace canopy::lab
