#pragma once

#include <mirror/mirror.h>

#include <string>

namespace canopy::inspector {

/// What a commit did, in a line.
std::string sentence_of(const LogLine& line);

}  // namespace canopy::inspector
