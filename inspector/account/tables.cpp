#include "tables.h"

#include <canopy/base/printable.h>

#include <algorithm>
#include <array>

namespace canopy::inspector {
namespace {

constexpr std::array<const char*, 9> kTables = {"tenants",  "requests",   "hits",  "waste", "regret",
                                                "timeline", "histograms", "marks", "locks"};

std::string text(std::uint64_t number) { return std::to_string(number); }

void add_counts(std::vector<std::string>& row, const Counts& counts) {
  for (std::size_t i = 0; i < std::size(kCounts); ++i) row.push_back(text(counts[static_cast<Count>(i)]));
}

void add_count_heads(std::vector<std::string>& heads) {
  for (const CountInfo& info : kCounts) heads.push_back(info.name);
}

CommitRange or_all(const History& history, CommitRange range) { return range.empty() ? history.all() : range; }

const char* owner_word(HeldLock::Owner owner) {
  switch (owner) {
    case HeldLock::Owner::request:
      return "request";
    case HeldLock::Owner::fetch:
      return "fetch";
    case HeldLock::Owner::pin:
      return "pin";
    case HeldLock::Owner::unexplained:
      break;
  }
  return "unexplained";
}

}  // namespace

Table tenants_table(const RangeFigures& figures) {
  Table table;
  table.heads = {"tenant"};
  add_count_heads(table.heads);
  table.heads.insert(table.heads.end(), {"held", "locked_us"});
  for (const TenantFigures& tenant : figures.tenants) {
    std::vector<std::string> row = {tenant.name};
    add_counts(row, tenant.counts);
    row.insert(row.end(), {text(tenant.held), text(tenant.locked_us)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table requests_table(const History& history, CommitRange range) {
  range = or_all(history, range);
  Table table;
  table.heads = {"request",    "tenant",      "prompt",   "hit",          "missed",       "reason",     "begun_us",
                 "started_us", "computed_us", "ended_us", "begun_commit", "ended_commit", "retractions"};
  const auto moment = [](const HistoryMoment& at, std::uint64_t HistoryMoment::* field) {
    return at ? text(at.*field) : std::string();
  };
  for (const RequestSpan& span : history.spans())
    if (range.has(span.begun.commit))
      table.rows.push_back({text(span.id), history.tenants()[span.tenant].name, text(span.prompt), text(span.matched),
                            text(span.missed), span.missed ? reason_name(span.reason) : "",
                            moment(span.begun, &HistoryMoment::us), moment(span.started, &HistoryMoment::us),
                            moment(span.computed, &HistoryMoment::us), moment(span.ended, &HistoryMoment::us),
                            text(span.begun.commit), moment(span.ended, &HistoryMoment::commit),
                            text(span.retractions)});
  return table;
}

Table prefixes_table(const History& history, std::span<const PrefixFigure> prefixes) {
  Table table;
  table.heads = {"node", "tenant", "depth", "length", "times", "tokens_at_least", "tokens_at_most", "last_commit"};
  for (const PrefixFigure& prefix : prefixes)
    table.rows.push_back({text(prefix.node), history.tenants()[history.row_of(prefix.space)].name, text(prefix.begin),
                          text(prefix.length), text(prefix.times), text(prefix.sure()), text(prefix.tokens),
                          text(prefix.commit)});
  return table;
}

Table timeline_table(const History& history, CommitRange range) {
  Table table;
  table.heads = {"first_commit", "last_commit", "us"};
  add_count_heads(table.heads);
  for (const char* cause : kEvictionCauseNames) table.heads.push_back(std::string("evicted, ") + cause);
  for (std::size_t reason = 0; reason < kReasons; ++reason)
    table.heads.push_back(std::string("missed, ") + reason_name(reason));
  for (const char* traffic : kTrafficNames) table.heads.push_back(traffic);
  table.heads.push_back("running");
  for (std::size_t g = 0; g < history.groups(); ++g)
    for (const char* part : {"free", "evictable", "protected", "owned"})
      table.heads.push_back(history.group_name(g) + " pages, " + part);
  const auto [first, end] = history.places(or_all(history, range));
  for (std::size_t i = first; i < end; ++i) {
    const Bucket& bucket = history.buckets()[i];
    std::vector<std::string> row = {text(bucket.commits.first), text(bucket.commits.last), text(bucket.last_us)};
    add_counts(row, bucket.counts);
    for (const std::uint64_t tokens : bucket.evicted) row.push_back(text(tokens));
    for (const std::uint64_t tokens : bucket.missed) row.push_back(text(tokens));
    for (const std::uint64_t amount : bucket.traffic) row.push_back(text(amount));
    row.push_back(text(bucket.running));
    for (std::size_t g = 0; g < history.groups(); ++g) {
      const MirrorPool::Sums pages = g < bucket.pools.size() ? bucket.pools[g].pages : MirrorPool::Sums{};
      for (const std::uint64_t part : {pages.free, pages.evictable, pages.protected_, pages.owned})
        row.push_back(text(part));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table histograms_table(const Histograms& histograms) {
  Table table;
  table.heads = {"histogram", "unit", "from", "below", "samples", "sample"};
  for (std::size_t h = 0; h < histograms.size(); ++h)
    for (std::size_t i = 0; i < histograms[h].classes(); ++i)
      if (const std::uint64_t samples = histograms[h].in(i))
        table.rows.push_back({kMeasures[h].words, kMeasures[h].unit == MeasureUnit::us ? "us" : "tokens",
                              text(Histogram::lowest(i)), text(Histogram::lowest(i + 1)), text(samples),
                              kMeasures[h].sample});
  return table;
}

Table marks_table(const History& history, CommitRange range) {
  range = or_all(history, range);
  Table table;
  table.heads = {"commit", "us", "kind", "what"};
  for (const HistoryMark& mark : history.marks())
    if (range.has(mark.at.commit))
      table.rows.push_back(
          {text(mark.at.commit), text(mark.at.us), kMarkNames[static_cast<std::size_t>(mark.kind)], mark.text});
  return table;
}

Table locks_table(const Mirror& mirror, std::size_t group) {
  Table table;
  table.heads = {"owner", "request", "tenant", "node", "tokens", "locks", "since_commit", "since_us"};
  const auto known = [](std::uint64_t number) { return number == 0 ? std::string() : text(number); };
  for (const HeldLock& lock : held_locks(mirror, group))
    table.rows.push_back({owner_word(lock.owner), known(lock.request), mirror.space_name(lock.space), text(lock.node),
                          text(lock.tokens), text(lock.locks), known(lock.since_commit), known(lock.since_us)});
  return table;
}

std::span<const char* const> table_names() { return kTables; }

Table table_of(std::string_view name, const History& history, const RangeFigures& figures, const Mirror& mirror) {
  if (name == "tenants") return tenants_table(figures);
  if (name == "requests") return requests_table(history, figures.commits);
  if (name == "hits") return prefixes_table(history, figures.hits);
  if (name == "waste") return prefixes_table(history, figures.waste);
  if (name == "regret") return prefixes_table(history, figures.regret);
  if (name == "timeline") return timeline_table(history, figures.commits);
  if (name == "histograms") return histograms_table(figures.histograms);
  if (name == "marks") return marks_table(history, figures.commits);
  return locks_table(mirror, 0);
}

std::string csv_of(const Table& table) {
  std::string csv;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) csv += ',';
      csv += csv_field(cells[i]);
    }
    csv += '\n';
  };
  add(table.heads);
  for (const std::vector<std::string>& row : table.rows) add(row);
  return csv;
}

}  // namespace canopy::inspector
