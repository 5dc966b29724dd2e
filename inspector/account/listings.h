#pragma once

#include <listing/listing.h>
#include <mirror/mirror.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "range_figures.h"

namespace canopy::inspector {

// The lists of a past: the columns that files, pages, the window and `canopy inspect` show of them, and their rows.
// References must outlive a listing.

/// Returns a figure's name with what it is: "regretted tokens, at most".
std::string bounded(Bound bound, const char* name);
/// Returns the share of prompt tokens that were found.
listing::Share hit_rate(const Counts& counts);

/// Tenants with their figures in a range. `whole`: the same of the whole time, for a column with its hit rate; may be
/// null (no such column).
/// `held_now`: tokens in the tree of which the rows' `held` are parts, if these are of the moment that is shown and not
/// of the range's end.
listing::Listing<TenantFigures> tenants_listing(const RangeFigures& range, const RangeFigures* whole = nullptr,
                                                std::optional<std::uint64_t> held_now = {});
/// Returns the tenants of a range, those with the most prompt tokens first.
std::vector<TenantFigures> tenants_by_prompts(const RangeFigures& range);

/// Requests as far as they are kept.
listing::Listing<RequestSpan> requests_listing(const History& history);
/// Returns the requests that began in a range; all if it is empty.
std::vector<RequestSpan> requests_in(const History& history, CommitRange range);

listing::Listing<PrefixFigure> prefixes_listing(const History& history);

/// The past step by step.
listing::Listing<Bucket> timeline_listing(const History& history);
std::span<const Bucket> buckets_in(const History& history, CommitRange range);

/// Samples of a class of a histogram.
struct ClassSamples {
  std::size_t histogram = 0, place = 0;  ///< numbers of the histogram and of the class
  std::uint64_t samples = 0;
};
listing::Listing<ClassSamples> histograms_listing();
/// Returns the classes that have a sample.
std::vector<ClassSamples> classes_of(const Histograms& histograms);

listing::Listing<HistoryMark> marks_listing();
std::vector<HistoryMark> marks_in(const History& history, CommitRange range);

/// A row of a comparison of two pasts. `apart`: the difference from the first to the second. `hits`: that of a tenant's
/// hit tokens.
struct TwoValues {
  std::string name;
  listing::Value first, second, apart{}, hits{};
};
/// Returns the hit rate and the counts of both.
std::vector<TwoValues> figures_of_both(const RangeFigures& first, const RangeFigures& second);
/// Returns the hit rates of tenants in both; those whose hit tokens differ most come first.
std::vector<TwoValues> tenants_of_both(const RangeFigures& first, const RangeFigures& second);
/// `head`: what the rows are. `apart`: heading of the difference.
listing::Listing<TwoValues> both_listing(const char* head, const char* apart);

/// The figures of a range beside those of the whole time, a row each: its sums; missed tokens by reason and evicted
/// ones by cause, without those that are 0; and the estimates of what_if().
std::vector<TwoValues> sums_beside(const RangeFigures& range, const RangeFigures& whole);
std::vector<TwoValues> missed_beside(const RangeFigures& range, const RangeFigures& whole);
std::vector<TwoValues> evicted_beside(const RangeFigures& range, const RangeFigures& whole);
std::vector<TwoValues> estimates_beside(const RangeFigures& range, const RangeFigures& whole, std::uint32_t page_size,
                                        const std::string& group);

/// Names of the lists that can be made from a recording: "tenants", "requests", ...
std::span<const char* const> list_names();
/// Returns the list with a name of list_names(), for a file. `mirror`: the state at the end of the range.
listing::Cells list_of(std::string_view name, const History& history, const RangeFigures& figures,
                       const Mirror& mirror);

}  // namespace canopy::inspector
