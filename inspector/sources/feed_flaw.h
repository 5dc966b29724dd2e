#pragma once

#include <canopy/feed/header.h>

#include <string>

namespace canopy::inspector {

inline constexpr const char* kNotAFeed = "it is not a feed";
/// Returns the reason why a header cannot be used: it is not a feed's, or it is that of another version of Canopy.
/// Empty if it can be used. Only a reader of a ring checks `ring_events`.
std::string flaw_of(const FeedShape& shape);

}  // namespace canopy::inspector
