#pragma once

#include <lab/comparison.h>

#include <string>
#include <vector>

namespace canopy::report {

/// What a comparison shows, in sentences that follow from its figures alone. Plain text.
std::vector<std::string> reading_of(const lab::Comparison& comparison);

/// What a person must know before believing the figures: violations, requests that did not fit, what was not run.
std::vector<std::string> warnings_of(const lab::Comparison& comparison);

}  // namespace canopy::report
