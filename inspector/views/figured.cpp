#include "figured.h"

#include <imgui.h>

#include "scene.h"

namespace canopy::inspector {

void Figured::update(const Timeline& time, const Selection& selection) {
  constexpr std::size_t kQuick = 512;  // buckets that are summed in every frame
  constexpr double kPause = 0.3;       // seconds between two sums of more
  const History& history = time.history;
  std::optional<std::uint32_t> tenant;
  if (selection.space) tenant = history.row_of(*selection.space);
  const bool same = of_ == time.range && tenant_ == tenant && detail_ == time.detail.get();
  const bool grown = commits_ != history.commits();
  if (same && !grown) return;
  const double now = ImGui::GetTime();
  const bool may_wait = version_ > 0 && !time.seekable && history.buckets().size() > kQuick;
  if (same && may_wait && now - computed_at_ < kPause && now > computed_at_) return;
  computed_at_ = now, commits_ = history.commits(), of_ = time.range, tenant_ = tenant, detail_ = time.detail.get();
  ++version_;
  // The exact figures of a short range, if it has been read again.
  const bool exact = time.detail && !time.range.empty() && time.detail->all().first <= time.range.first &&
                     time.detail->all().last >= time.range.last;
  const History& near = exact ? *time.detail : history;
  const auto near_tenant = exact && selection.space ? std::optional(near.row_of(*selection.space)) : tenant;
  all_whole_ = figures_of(history, {});
  has_range_ = history.places(time.range).second > 0;
  if (has_range_) all_range_ = figures_of(near, time.range);
  whole_ = tenant ? figures_of(history, {}, tenant) : all_whole_;
  range_ = !has_range_ ? RangeFigures{} : tenant ? figures_of(near, time.range, near_tenant) : all_range_;
}

}  // namespace canopy::inspector
