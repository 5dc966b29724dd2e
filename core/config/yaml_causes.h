#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "yaml_text.h"

namespace canopy {

inline constexpr const char* kUnclosed = "the quote that opens here is not closed on its line";

/// Where a text that yaml-cpp refuses at `end` probably went wrong: the first quote before `end` that opens a value and
/// is not closed on its line, or else the innermost bracket that is never closed. This is a guess, since it does not
/// know block scalars; but yaml-cpp reports the place where it gave up, which may be a page below the cause.
std::optional<Refused> likely_cause(std::string_view text, std::size_t end);

/// yaml-cpp's message in words for the author of a file.
std::string in_plain_words(const std::string& said);

}  // namespace canopy
