#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::workload {

// The names that traces and workloads have for the bits of canopy::hint: session_ended, tool_call_pending, class_1 to
// class_7.

std::optional<std::uint64_t> hint_named(std::string_view name);
/// "expected one of ...; is 'session_ended' meant?", for a name that is none.
std::string known_hints(std::string_view name);

}  // namespace canopy::workload
