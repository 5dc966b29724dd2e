#include "hints.h"

#include <canopy/base/nearest_name.h>
#include <canopy/eviction_strategy.h>
#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

namespace canopy::workload {
namespace {

constexpr std::pair<std::string_view, std::uint64_t> kNames[] = {
    {"session_ended", hint::kSessionEnded}, {"tool_call_pending", hint::kToolCallPending},
    {"class_1", hint::of_class(1)},         {"class_2", hint::of_class(2)},
    {"class_3", hint::of_class(3)},         {"class_4", hint::of_class(4)},
    {"class_5", hint::of_class(5)},         {"class_6", hint::of_class(6)},
    {"class_7", hint::of_class(7)}};

}  // namespace

std::optional<std::uint64_t> hint_named(std::string_view name) {
  for (const auto& [known, bits] : kNames)
    if (known == name) return bits;
  return {};
}

std::string known_hints(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [known, bits] : kNames) names.emplace_back(known);
  const std::string near = nearest_name(std::string(name), names);
  return fmt::format("expected one of {}{}", fmt::join(names, ", "),
                     near.empty() ? "" : "; did you mean '" + near + "'?");
}

}  // namespace canopy::workload
