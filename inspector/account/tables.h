#pragma once

#include <mirror/held_locks.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "range_figures.h"

namespace canopy::inspector {

/// A table as text, for files. Cells are not rounded, and without units: tokens, microseconds and commits.
struct Table {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

Table tenants_table(const RangeFigures& figures);
/// Requests that began in the range, as far as they are kept.
Table requests_table(const History& history, CommitRange range);
Table prefixes_table(const History& history, std::span<const PrefixFigure> prefixes);
/// The range step by step: a row for each bucket of the history.
Table timeline_table(const History& history, CommitRange range);
/// The classes with a sample of each histogram.
Table histograms_table(const Histograms& histograms);
Table marks_table(const History& history, CommitRange range);
/// Locks at the mirror's moment.
Table locks_table(const Mirror& mirror, std::size_t group);

/// Names of tables that can be made from a recording: "tenants", "requests", ...
std::span<const char* const> table_names();
/// Returns the table with a name of table_names(). `mirror`: the state at the end of the range.
Table table_of(std::string_view name, const History& history, const RangeFigures& figures, const Mirror& mirror);

/// Returns the table as CSV (RFC 4180, with LF): a line of heads, then the rows.
std::string csv_of(const Table& table);

}  // namespace canopy::inspector
