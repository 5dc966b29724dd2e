#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::workload {

// The names of the bits of canopy::hint in traces and workloads: session_ended, tool_call_pending, class_1 to class_7.

std::optional<std::uint64_t> hint_named(std::string_view name);
/// Returns "expected one of ...; did you mean 'session_ended'?" for an unknown name.
std::string known_hints(std::string_view name);

}  // namespace canopy::workload
