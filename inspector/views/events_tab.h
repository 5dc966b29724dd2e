#pragma once

#include <mirror/mirror.h>

#include <string>

namespace canopy::inspector {

/// Returns the effects of a commit as one line of text.
std::string sentence_of(const LogLine& line);

}  // namespace canopy::inspector
