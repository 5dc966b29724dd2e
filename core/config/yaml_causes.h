#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "yaml_text.h"

namespace canopy {

inline constexpr const char* kUnclosed = "the quote that opens here is not closed on its line";

/// For a text that is already known to be wrong: the first quote before `end` that opens a value and is not closed
/// on its line, or else the innermost bracket that is never closed. Does not know about block scalars, so it
/// only guesses; but yaml-cpp names the place where it gave up, which may be a page below the cause.
std::optional<Refused> likely_cause(std::string_view text, std::size_t end);

/// yaml-cpp's complaint in words for somebody who wrote a file, not a parser.
std::string in_plain_words(const std::string& said);

}  // namespace canopy
