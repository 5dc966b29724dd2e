#include "figured.h"

#include <imgui.h>

#include <utility>

#include "scene.h"

namespace canopy::inspector {

void Figured::update(const Timeline& time, const Selection& selection) {
  constexpr double kPause = 0.3;  // seconds between two sums of a live feed's prefixes
  const History& history = time.history;
  std::optional<std::uint32_t> tenant;
  if (selection.space) tenant = history.row_of(*selection.space);
  const bool same = of_ == time.range && tenant_ == tenant && detail_ == time.detail.get();
  const bool grown = commits_ != history.commits();
  if (same && !grown) return;
  const double now = ImGui::GetTime();
  // The lists of prefixes cost most: while a live feed grows they are kept, unless much has happened.
  const bool keep = same && time.live && now < computed_at_ + kPause && now > computed_at_ &&
                    history.commits() < summed_ + summed_ / 8;
  if (!keep) computed_at_ = now, summed_ = history.commits();
  commits_ = history.commits(), of_ = time.range, tenant_ = tenant, detail_ = time.detail.get();
  ++version_;
  // The exact figures of a short range, if it has been read again.
  const bool exact = time.detail && !time.range.empty() && time.detail->all().first <= time.range.first &&
                     time.detail->all().last >= time.range.last;
  const History& near = exact ? *time.detail : history;
  const auto near_tenant = exact && selection.space ? std::optional(near.row_of(*selection.space)) : tenant;
  const auto sum = [&](RangeFigures& into, const History& of, CommitRange range, std::optional<std::uint32_t> row) {
    RangeFigures fresh = figures_of(of, range, row, !keep);
    if (keep)
      fresh.hits = std::move(into.hits), fresh.waste = std::move(into.waste), fresh.regret = std::move(into.regret),
      fresh.histograms = std::move(into.histograms);
    into = std::move(fresh);
  };
  has_range_ = history.places(time.range).second > 0;
  sum(all_whole_, history, {}, {});
  if (has_range_) sum(all_range_, near, time.range, {});
  if (!tenant) return;
  sum(whole_, history, {}, tenant);
  if (has_range_) sum(range_, near, time.range, near_tenant);
}

}  // namespace canopy::inspector
