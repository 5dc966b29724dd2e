#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "range_figures.h"

namespace canopy::inspector {

/// A second past, to compare with the first: another recording of the same requests, as with another policy.
struct OtherPast {
  std::string name;
  History history;
  Doubts doubts{};  ///< doubts of its figures
};

/// Two pasts have one axis in the requested work: prompt tokens that had arrived. Their clocks differ, since one engine
/// may be faster.

/// Returns the prompt tokens of all requests of a past.
std::uint64_t work_of(const History& history);
/// Returns the counts of a past in columns of equal work; `work`: that of all columns.
std::vector<Counts> by_work(const History& history, std::uint64_t work, std::size_t columns);
/// Returns the commits of `to` in which the same work arrived as in a range of `from`.
CommitRange same_work(const History& from, CommitRange range, const History& to);

/// A line of a comparison.
struct TwoFigures {
  std::string name;
  std::optional<std::uint64_t> first, second;  ///< nothing: not known
};
/// Returns the counts of both, a line each.
std::vector<TwoFigures> compared(const RangeFigures& first, const RangeFigures& second);
/// A tenant in both, matched by its name.
struct TwoTenants {
  std::string name;
  Counts first, second;
};
/// Returns the tenants of both; those whose hit tokens differ most come first.
std::vector<TwoTenants> compared_tenants(const RangeFigures& first, const RangeFigures& second);

}  // namespace canopy::inspector
