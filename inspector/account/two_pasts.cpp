#include "two_pasts.h"

#include <algorithm>
#include <map>

namespace canopy::inspector {

std::uint64_t work_of(const History& history) {
  std::uint64_t work = 0;
  for (const Bucket& bucket : history.buckets()) work += bucket.counts[Count::prompt];
  return work;
}

std::vector<Counts> by_work(const History& history, std::uint64_t work, std::size_t columns) {
  std::vector<Counts> sums(columns);
  if (work == 0 || columns == 0) return sums;
  std::uint64_t done = 0;
  for (const Bucket& bucket : history.buckets()) {
    done += bucket.counts[Count::prompt];
    const double share = static_cast<double>(done) / static_cast<double>(work);
    const auto column = static_cast<std::size_t>(share * static_cast<double>(columns));
    sums[std::min(column, columns - 1)] += bucket.counts;
  }
  return sums;
}

CommitRange same_work(const History& from, CommitRange range, const History& to) {
  const auto [first, end] = from.places(range);
  if (first >= end) return {};
  std::uint64_t before = 0, until = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (i < first) before += from.buckets()[i].counts[Count::prompt];
    until += from.buckets()[i].counts[Count::prompt];
  }
  CommitRange same;
  std::uint64_t done = 0;
  for (const Bucket& bucket : to.buckets()) {
    done += bucket.counts[Count::prompt];
    if (done > before && same.first == 0) same.first = bucket.commits.first;
    if (same.first != 0) same.last = bucket.commits.last;
    if (done >= until) break;
  }
  return same;
}

std::vector<TwoFigures> compared(const RangeFigures& first, const RangeFigures& second) {
  std::vector<TwoFigures> lines;
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    const auto count = static_cast<Count>(i);
    const auto of = [&](const RangeFigures& figures) {
      return figures.knows(count) ? std::optional(figures.counts[count]) : std::nullopt;
    };
    lines.push_back({kCounts[i].words, of(first), of(second)});
  }
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    if (first.missed[reason] == 0 && second.missed[reason] == 0) continue;
    const auto of = [&](const RangeFigures& figures) {
      return figures.has_requests ? std::optional(figures.missed[reason]) : std::nullopt;
    };
    lines.push_back({std::string("missed, ") + reason_name(reason), of(first), of(second)});
  }
  return lines;
}

std::vector<TwoTenants> compared_tenants(const RangeFigures& first, const RangeFigures& second) {
  std::map<std::string, TwoTenants> by_name;
  for (const TenantFigures& tenant : first.tenants) by_name[tenant.name].first = tenant.counts;
  for (const TenantFigures& tenant : second.tenants) by_name[tenant.name].second = tenant.counts;
  std::vector<TwoTenants> tenants;
  for (auto& [name, both] : by_name) {
    both.name = name;
    tenants.push_back(both);
  }
  const auto apart = [](const TwoTenants& both) {
    const std::uint64_t a = both.first[Count::hit], b = both.second[Count::hit];
    return a > b ? a - b : b - a;
  };
  std::sort(tenants.begin(), tenants.end(), [&](const TwoTenants& a, const TwoTenants& b) {
    return apart(a) != apart(b) ? apart(a) > apart(b) : a.name < b.name;
  });
  return tenants;
}

}  // namespace canopy::inspector
