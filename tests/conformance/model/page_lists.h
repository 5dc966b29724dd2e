#pragma once

#include <program/mismatch.h>

#include <canopy/types.h>

#include <span>
#include <vector>

namespace canopy::test {

/// Copies a result of an index or an allocator, which is valid only until its next call.
inline std::vector<Page> copied(std::span<const Page> pages) { return {pages.begin(), pages.end()}; }

inline void expect_same_pages(const char* what, const std::vector<Page>& came, const std::vector<Page>& expected) {
  if (came != expected)
    disagree("{}: expected pages [{}], got [{}]", what, fmt::join(expected, " "), fmt::join(came, " "));
}

}  // namespace canopy::test
