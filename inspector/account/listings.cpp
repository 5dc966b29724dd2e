#include "listings.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/listings.h>
#include <mirror/names.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>

#include "two_pasts.h"

namespace canopy::inspector {
namespace {

using listing::difference;
using listing::Listing;
using listing::Share;
using listing::Tone;
using listing::Value;
using Unit = listing::Unit;

constexpr std::array<const char*, 9> kLists = {"tenants",  "requests",   "hits",  "waste", "regret",
                                               "timeline", "histograms", "marks", "locks"};

Value if_known(bool known, std::uint64_t number) { return known ? Value(number) : Value(); }

/// Adds a column for each count, for files.
template <class Row>
void add_counts(Listing<Row>& list, bool has_requests) {
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    const auto which = static_cast<Count>(i);
    list.add_in_files(kCounts[i].name, [which, known = has_requests || !needs_requests(which)](const Row& row) {
      return if_known(known, row.counts[which]);
    });
  }
}

/// Adds a column for each number of an array, for files.
template <class Array>
void add_array(Listing<Bucket>& list, const char* before, Array Bucket::* array, auto&& name_of, bool known = true) {
  for (std::size_t i = 0; i < Array().size(); ++i)
    list.add_in_files(std::string(before) + name_of(i),
                      [array, i, known](const Bucket& row) { return if_known(known, (row.*array)[i]); });
}

auto count_of(Count which, const RangeFigures& of) {
  return [which, known = of.knows(which)](const TenantFigures& row) { return if_known(known, row.counts[which]); };
}

template <class Rows, class Moment>
auto those_in(const History& history, CommitRange range, const Rows& rows, Moment&& moment_of) {
  if (range.empty()) range = history.all();
  std::vector<typename Rows::value_type> some;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(some),
               [&](const auto& row) { return range.has(moment_of(row).commit); });
  return some;
}

}  // namespace

std::string bounded(Bound bound, const char* name) {
  const std::string_view words = kBoundWords[static_cast<std::size_t>(bound)];
  return words.empty() ? name : fmt::format("{}, {}", name, words.substr(0, words.size() - 1));
}

Share hit_rate(const Counts& counts) { return {counts[Count::hit], counts[Count::prompt]}; }

Listing<TenantFigures> tenants_listing(const RangeFigures& range, const RangeFigures* whole,
                                       std::optional<std::uint64_t> held_now) {
  using Row = TenantFigures;
  Listing<Row> list;
  list.add("tenant", Unit::text, [](const Row& row) { return row.name; })
      .in_files("tenant")
      .means("A namespace: only its requests share prefixes.");
  add_counts(list, range.has_requests);
  list.add("requests", Unit::count, count_of(Count::requests, range))
      .wide(4.2F, 46)
      .means("Requests that were admitted.");
  list.add("prompt tokens", Unit::tokens, count_of(Count::prompt, range))
      .short_as("prompt")
      .wide(4.4F)
      .means("Tokens of their prompts.");
  list.add("hit", Unit::count, [](const Row& row) { return hit_rate(row.counts); })
      .wide(3.3F)
      .means("Share of the prompt tokens that were found.");
  if (whole)
    list.add("(whole)", Unit::count,
             [whole](const Row& row) {
               const auto same = std::find_if(whole->tenants.begin(), whole->tenants.end(),
                                              [&](const Row& each) { return each.name == row.name; });
               return same == whole->tenants.end() ? Value() : Value(hit_rate(same->counts));
             })
        .wide(3.3F, 36)
        .in_tone(Tone::dim)
        .means("The same, over the whole time.");
  list.add("cached", Unit::tokens, [](const Row& row) { return row.held; })
      .in_files("held")
      .wide(3.6F)
      .means(held_now ? "Tokens in the tree, at the moment that is shown." : "Tokens in the tree, at the range's end.");
  list.add("share", Unit::count, [all = held_now.value_or(range.held)](const Row& row) { return Share{row.held, all}; })
      .wide(3.4F, 36)
      .means(held_now ? "Share of all tokens in the tree, at the moment that is shown."
                      : "Share of all tokens in the tree, at the range's end.");
  list.add("waste", Unit::tokens, count_of(Count::wasted, range))
      .wide(3.6F)
      .means("Tokens that were computed, never hit, and evicted.");
  list.add("regret", Unit::tokens, count_of(Count::regretted, range))
      .wide(3.6F)
      .means("Tokens that were evicted and computed again.");
  list.add("locked", Unit::us, [known = range.has_requests](const Row& row) { return if_known(known, row.locked_us); })
      .in_files("locked_us")
      .wide(4, 36)
      .means("Time for which its requests ran, and so locked their prefixes; summed over requests.");
  return list;
}

std::vector<TenantFigures> tenants_by_prompts(const RangeFigures& range) {
  std::vector<TenantFigures> rows = range.tenants;
  std::sort(rows.begin(), rows.end(), [](const TenantFigures& a, const TenantFigures& b) {
    const std::uint64_t first = a.counts[Count::prompt], second = b.counts[Count::prompt];
    return first != second ? first > second : a.name < b.name;
  });
  return rows;
}

Listing<RequestSpan> requests_listing(const History& history) {
  using Row = RequestSpan;
  const auto moment = [](HistoryMoment Row::* which, std::uint64_t HistoryMoment::* field) {
    return [=](const Row& row) { return row.*which ? Value(row.*which.*field) : Value(); };
  };
  Listing<Row> list;
  list.add_in_files("request", [](const Row& row) { return row.id; });
  list.add_in_files("tenant", [&history](const Row& row) { return history.tenants()[row.tenant].name; });
  list.add_in_files("prompt", [](const Row& row) { return row.prompt; });
  list.add_in_files("hit", [](const Row& row) { return row.matched; });
  list.add_in_files("missed", [](const Row& row) { return row.missed; });
  list.add_in_files("reason", [](const Row& row) { return row.missed ? reason_name(row.reason) : ""; });
  list.add_in_files("evicted", [](const Row& row) { return row.evicted_part; });
  list.add_in_files("reason_of_rest",
                    [](const Row& row) { return row.missed > row.evicted_part ? reason_name(row.rest) : ""; });
  list.add_in_files("begun_us", moment(&Row::begun, &HistoryMoment::us));
  list.add_in_files("started_us", moment(&Row::started, &HistoryMoment::us));
  list.add_in_files("computed_us", moment(&Row::computed, &HistoryMoment::us));
  list.add_in_files("ended_us", moment(&Row::ended, &HistoryMoment::us));
  list.add_in_files("begun_commit", [](const Row& row) { return row.begun.commit; });
  list.add_in_files("ended_commit", moment(&Row::ended, &HistoryMoment::commit));
  list.add_in_files("retractions", [](const Row& row) { return row.retractions; });
  return list;
}

std::vector<RequestSpan> requests_in(const History& history, CommitRange range) {
  return those_in(history, range, history.spans(), [](const RequestSpan& span) { return span.admitted; });
}

Listing<PrefixFigure> prefixes_listing(const History& history) {
  using Row = PrefixFigure;
  const auto tenant = [&history](const Row& row) { return history.tenants()[history.row_of(row.space)].name; };
  Listing<Row> list;
  list.add("prefix", Unit::text, [](const Row& row) { return node_name(row.node); }).wide(4.6F);
  list.add_in_files("node", [](const Row& row) { return row.node; });
  list.add("tenant", Unit::text, tenant).in_files("tenant").in_tone(Tone::dim);
  list.add_in_files("depth", [](const Row& row) { return row.begin; });
  list.add_in_files("length", [](const Row& row) { return row.length; });
  list.add("times", Unit::count, [](const Row& row) { return row.times; }).in_files("times").wide(3.4F);
  list.add("tokens", Unit::tokens, [](const Row& row) { return row.sure(); }).in_files("tokens_at_least").wide(4.2F);
  list.add_in_files("tokens_at_most", [](const Row& row) { return row.tokens; });
  list.add_in_files("last_commit", [](const Row& row) { return row.commit; });
  return list;
}

Listing<Bucket> timeline_listing(const History& history) {
  using Row = Bucket;
  Listing<Row> list;
  list.add_in_files("first_commit", [](const Row& row) { return row.commits.first; });
  list.add_in_files("last_commit", [](const Row& row) { return row.commits.last; });
  list.add_in_files("us", [](const Row& row) { return row.last_us; });
  add_counts(list, history.has_requests());
  add_array(list, "evicted, ", &Row::evicted, [](std::size_t cause) { return kEvictionCauseNames[cause]; });
  add_array(list, "missed, ", &Row::missed, reason_name, history.has_requests());
  add_array(list, "", &Row::traffic, [](std::size_t traffic) { return kTrafficNames[traffic]; });
  list.add_in_files("running",
                    [known = history.has_requests()](const Row& row) { return if_known(known, row.running); });
  using Sums = MirrorPool::Sums;
  for (std::size_t g = 0; g < history.groups(); ++g) {
    const auto pages = [&](const char* name, std::uint64_t Sums::* part) {
      list.add_in_files(history.group_name(g) + " pages, " + name, [g, part](const Row& row) {
        return std::uint64_t{g < row.pools.size() ? row.pools[g].pages.*part : 0};
      });
    };
    pages("free", &Sums::free), pages("evictable", &Sums::evictable);
    pages("protected", &Sums::protected_), pages("owned", &Sums::owned);
  }
  return list;
}

std::span<const Bucket> buckets_in(const History& history, CommitRange range) {
  const auto [first, end] = history.places(range.empty() ? history.all() : range);
  return std::span(history.buckets()).subspan(first, end - first);
}

Listing<ClassSamples> histograms_listing() {
  using Row = ClassSamples;
  const auto info = [](const Row& row) { return kMeasures[row.histogram]; };
  Listing<Row> list;
  list.add_in_files("histogram", [info](const Row& row) { return info(row).words; });
  list.add_in_files("unit", [info](const Row& row) { return info(row).unit == MeasureUnit::us ? "us" : "tokens"; });
  list.add_in_files("from", [](const Row& row) { return Histogram::lowest(row.place); });
  list.add_in_files("below", [](const Row& row) { return Histogram::lowest(row.place + 1); });
  list.add_in_files("samples", [](const Row& row) { return row.samples; });
  list.add_in_files("sample", [info](const Row& row) { return info(row).sample; });
  return list;
}

std::vector<ClassSamples> classes_of(const Histograms& histograms) {
  std::vector<ClassSamples> classes;
  for (std::size_t h = 0; h < histograms.size(); ++h)
    for (std::size_t i = 0; i < histograms[h].classes(); ++i)
      if (const std::uint64_t samples = histograms[h].in(i)) classes.push_back({h, i, samples});
  return classes;
}

Listing<HistoryMark> marks_listing() {
  using Row = HistoryMark;
  Listing<Row> list;
  list.add_in_files("commit", [](const Row& row) { return row.at.commit; });
  list.add_in_files("us", [](const Row& row) { return row.at.us; });
  list.add_in_files("kind", [](const Row& row) { return kMarkNames[static_cast<std::size_t>(row.kind)]; });
  list.add_in_files("what", [](const Row& row) { return row.text; });
  return list;
}

std::vector<HistoryMark> marks_in(const History& history, CommitRange range) {
  return those_in(history, range, history.marks(), [](const HistoryMark& mark) { return mark.at; });
}

std::vector<TwoValues> figures_of_both(const RangeFigures& first, const RangeFigures& second) {
  std::vector<TwoValues> rows = {{"hit rate", hit_rate(first.counts), hit_rate(second.counts),
                                  difference(hit_rate(first.counts), hit_rate(second.counts))}};
  const auto value = [](std::optional<std::uint64_t> known) { return known ? Value(*known) : Value(); };
  for (const TwoFigures& each : compared(first, second))
    rows.push_back({each.name, value(each.first), value(each.second),
                    each.first && each.second ? difference(*each.first, *each.second) : Value()});
  return rows;
}

std::vector<TwoValues> tenants_of_both(const RangeFigures& first, const RangeFigures& second) {
  std::vector<TwoValues> rows;
  for (const TwoTenants& tenant : compared_tenants(first, second))
    rows.push_back({tenant.name, hit_rate(tenant.first), hit_rate(tenant.second),
                    difference(hit_rate(tenant.first), hit_rate(tenant.second)),
                    difference(tenant.first[Count::hit], tenant.second[Count::hit])});
  return rows;
}

Listing<TwoValues> both_listing(const char* head, const char* apart) {
  Listing<TwoValues> list;
  list.add(head, Unit::text, [](const TwoValues& row) { return row.name; }).in_tone(Tone::dim);
  list.add("first", Unit::count, [](const TwoValues& row) { return row.first; }).wide(7);
  list.add("second", Unit::count, [](const TwoValues& row) { return row.second; }).wide(7);
  list.add(apart, Unit::count, [](const TwoValues& row) { return row.apart; }).wide(7);
  return list;
}

std::vector<TwoValues> sums_beside(const RangeFigures& range, const RangeFigures& whole) {
  const auto time = [](const RangeFigures& of) { return duration(static_cast<double>(of.us()) / 1e6); };
  std::vector<TwoValues> rows = {{"commits", range.commits.commits(), whole.commits.commits()},
                                 {"time", time(range), time(whole)},
                                 {"hit rate", hit_rate(range.counts), hit_rate(whole.counts)}};
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    const auto count = static_cast<Count>(i);
    const auto of = [&](const RangeFigures& figures) { return if_known(figures.knows(count), figures.counts[count]); };
    const Bound bound = count == Count::regretted ? whole.bound : Bound::none;
    rows.push_back({bounded(bound, kCounts[i].words), of(range), of(whole)});
  }
  return rows;
}

std::vector<TwoValues> missed_beside(const RangeFigures& range, const RangeFigures& whole) {
  std::vector<TwoValues> rows;
  for (std::size_t reason = 0; reason < kReasons; ++reason)
    if (whole.missed[reason] > 0) {
      const bool came_back = reason == static_cast<std::size_t>(Miss::evicted) || reason == kFlushedReason;
      rows.push_back({bounded(came_back ? whole.bound : Bound::none, reason_name(reason)), range.missed[reason],
                      whole.missed[reason]});
    }
  return rows;
}

std::vector<TwoValues> evicted_beside(const RangeFigures& range, const RangeFigures& whole) {
  std::vector<TwoValues> rows;
  for (std::size_t cause = 0; cause < kEvictionCauses; ++cause)
    if (whole.evicted[cause] > 0)
      rows.push_back({kEvictionCauseNames[cause], range.evicted[cause], whole.evicted[cause]});
  return rows;
}

std::vector<TwoValues> estimates_beside(const RangeFigures& range, const RangeFigures& whole, std::uint32_t page_size,
                                        const std::string& group) {
  const std::vector<WhatIf> in_range = what_if(range, page_size, group), all = what_if(whole, page_size, group);
  const auto rate = [](const WhatIf& each) {
    return kBoundWords[static_cast<std::size_t>(each.bound)] + percent(each.hit_rate);
  };
  std::vector<TwoValues> rows;
  for (std::size_t i = 0; i < all.size(); ++i)
    rows.push_back({all[i].with, in_range.empty() ? Value() : Value(rate(in_range[i])), rate(all[i])});
  return rows;
}

std::span<const char* const> list_names() { return kLists; }

listing::Cells list_of(std::string_view name, const History& history, const RangeFigures& figures,
                       const Mirror& mirror) {
  using listing::file_cells;
  const CommitRange range = figures.commits;
  if (name == "tenants") return file_cells(tenants_listing(figures), figures.tenants);
  if (name == "requests") return file_cells(requests_listing(history), requests_in(history, range));
  if (name == "hits") return file_cells(prefixes_listing(history), figures.hits);
  if (name == "waste") return file_cells(prefixes_listing(history), figures.waste);
  if (name == "regret") return file_cells(prefixes_listing(history), figures.regret);
  if (name == "timeline") return file_cells(timeline_listing(history), buckets_in(history, range));
  if (name == "histograms") return file_cells(histograms_listing(), classes_of(figures.histograms));
  if (name == "marks") return file_cells(marks_listing(), marks_in(history, range));
  return file_cells(locks_listing(mirror), held_locks(mirror, 0));
}

}  // namespace canopy::inspector
