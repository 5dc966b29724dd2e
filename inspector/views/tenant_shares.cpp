#include "tenant_shares.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw.h"

namespace canopy::inspector {
namespace {

/// Columns of the table of shares.
struct At {
  enum Column : std::size_t { kName, kBar, kCached, kAbove, kFloor, kCeiling, kPaid, kTaken, kBelow };
};

double value_of(const TenantShares::Row& row, std::size_t column) {
  switch (column) {
    case At::kAbove:
      return row.above();
    case At::kFloor:
      return static_cast<double>(row.floor);
    case At::kCeiling:
      return static_cast<double>(row.ceiling);
    case At::kPaid:
      return static_cast<double>(row.paid);
    case At::kTaken:
      return static_cast<double>(row.taken);
    case At::kBelow:
      return static_cast<double>(row.below_floor);
    default:
      return static_cast<double>(row.cached);
  }
}

std::string share_amount(std::uint64_t tokens) { return tokens == 0 ? "-" : brief(static_cast<double>(tokens)); }

/// Returns the distance from the share with its sign.
std::string share_distance(double above) {
  return std::abs(above) < 0.5 ? "0" : (above > 0 ? "+" : "-") + brief(std::abs(above));
}

}  // namespace

void TenantShares::list(const Scene& scene) {
  if (!paid_.update(scene)) return;
  const MirrorTenants& tenants = scene.mirror.tenants();
  const std::vector<std::uint64_t> cached = scene.mirror.tenant_tokens();
  const MirrorPool& pool = scene.mirror.pool(0);
  std::uint64_t all_cached = 0;
  for (const std::uint64_t tokens : cached) all_cached += tokens;
  const std::vector<double> shares =
      shares_of(tenants, cached, pool.limit == kUnlimited ? all_cached : pool.limit * scene.mirror.page_size());

  const bool range = scene.figures.has_range();
  rows_.clear();
  scale_ = 1;
  for (std::uint32_t i = 0; i < tenants.all.size(); ++i) {
    const MirrorTenant& tenant = tenants.all[i];
    if (tenant.name.empty() && cached[i] == 0 && tenant.evicted == 0) continue;  // usually no request is without one
    rows_.push_back({i, tenant.shown_name(), palette().tombstone, cached[i], tenant.floor, tenant.ceiling, shares[i],
                     range ? 0 : tenant.paid, range ? 0 : tenant.taken, tenant.below_floor});
    scale_ = std::max({scale_, static_cast<double>(cached[i]), shares[i], static_cast<double>(tenant.floor)});
  }
  std::vector<Row*> by_number(tenants.all.size());
  for (Row& row : rows_) by_number[row.tenant] = &row;
  if (range)
    for (const PaidTokens& each : paid_.pairs()) {
      if (by_number[each.from]) by_number[each.from]->paid += each.tokens;
      if (by_number[each.taker]) by_number[each.taker]->taken += each.tokens;
    }
  for (std::size_t space = scene.mirror.spaces().size(); space-- > 0;)  // the colour of its first namespace
    if (const std::uint32_t tenant = scene.mirror.spaces()[space].tenant;
        tenant > 0 && tenant < by_number.size() && by_number[tenant])
      by_number[tenant]->colour = palette().of(NamespaceId{static_cast<std::uint32_t>(space)});
  sort();
}

void TenantShares::sort() {
  std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
    const Row &first = order_.falling ? a : b, &second = order_.falling ? b : a;
    if (order_.column == At::kName && first.name != second.name) return first.name > second.name;
    const double one = value_of(first, order_.column), other = value_of(second, order_.column);
    return one != other ? one > other : a.tenant < b.tenant;
  });
}

void TenantShares::draw(Scene& scene) {
  list(scene);
  const auto above = std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.above() >= 0.5; });
  dim(fitted(fmt::format("{} of {} above their share", above, plural(rows_.size(), "tenant")),
             ImGui::GetContentRegionAvail().x));
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool beside = room.x > em() * 62;
  ImGui::BeginChild("shares", beside ? ImVec2(room.x - em() * 25, 0) : ImVec2(0, room.y * 0.56F));
  draw_table(ImGui::GetContentRegionAvail().x);
  ImGui::EndChild();
  if (beside) ImGui::SameLine(0, em());
  ImGui::BeginChild("paid");
  paid_.draw(scene);
  ImGui::EndChild();
}

void TenantShares::draw_table(float width) {
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("shares", 9, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  const bool broken = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.below_floor > 0; });
  ImGui::TableSetupColumn("tenant", 0, 1.2F);
  ImGui::TableSetupColumn("share", 0, 1.6F);
  constexpr float kWidths[] = {4.2F, 4.4F, 3.8F, 4.2F, 4.F, 4.F, 5.5F};
  for (std::size_t i = 0; i < std::size(kWidths); ++i) {
    const std::size_t column = i + At::kCached;
    const bool hidden = (column == At::kBelow && !broken) || (column == At::kCeiling && width < em() * 36) ||
                        ((column == At::kFloor || column == At::kTaken) && width < em() * 28);
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed | (hidden ? ImGuiTableColumnFlags_Disabled : 0),
                            kWidths[i] * em());
  }
  if (sorted_heads(
          {{"tenant", false, "A tenant of the engine's file, or every other one for itself."},
           {"share", false, "Bar: what it has. Tall line: its share. Line below: its floor. Red line: its ceiling."},
           {"cached", true, "Tokens in the tree at this moment."},
           {"above", true,
            "Distance from its share: its floor and, by weight, its part of what the floors of all tenants that have "
            "something leave. The tenant furthest above, by weight, loses first."},
           {"floor", true, "Tokens that are not evicted for other tenants."},
           {"ceiling", true, "Most tokens that it may have; with more it evicts its own."},
           {"paid", true, "Tokens that it lost because another tenant needed room."},
           {"taken", true, "Tokens that other tenants lost because it needed room."},
           {"below floor", true, "Part of what it lost that its floor protected: nothing else could leave."}},
          order_))
    sort();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows_.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_row(rows_[static_cast<std::size_t>(i)]);
  ImGui::EndTable();
}

void TenantShares::draw_row(const Row& row) const {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  swatch(row.colour, fitted(row.name, ImGui::GetContentRegionAvail().x - em() * 1.2F));
  explain(row.name);
  ImGui::TableNextColumn();
  draw_bar(row);
  explain(fmt::format("{}: {} of its share of {} tokens", row.name, grouped(row.cached),
                      grouped(static_cast<std::uint64_t>(std::llround(row.share)))));
  const auto column = [](const std::string& words) {
    ImGui::TableNextColumn();
    number(words);
  };
  column(share_amount(row.cached));
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, row.below_floor > 0   ? palette().bad
                                       : row.above() >= 0.5  ? palette().warn
                                       : row.above() <= -0.5 ? palette().good
                                                             : palette().text);
  number(share_distance(row.above()));
  ImGui::PopStyleColor();
  column(share_amount(row.floor));
  column(row.ceiling == kUnlimited ? "-" : brief(static_cast<double>(row.ceiling)));
  column(share_amount(row.paid));
  column(share_amount(row.taken));
  column(share_amount(row.below_floor));
}

void TenantShares::draw_bar(const Row& row) const {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const ImVec2 size(ImGui::GetContentRegionAvail().x - em() * 0.4F, em() * 0.9F);
  ImGui::Dummy(size);
  if (size.x <= 0) return;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto at = [&](double tokens) {
    return from.x + size.x * static_cast<float>(std::clamp(tokens / scale_, 0.0, 1.0));
  };
  const float top = from.y + em() * 0.18F, end = from.y + size.y - em() * 0.12F;
  list->AddRectFilled({from.x, top}, {from.x + size.x, end}, with_alpha(palette().line, 0.5F));
  list->AddRectFilled({from.x, top}, {at(static_cast<double>(row.cached)), end}, row.colour);
  const float thick = std::max(1.F, em() * 0.12F);
  if (row.floor > 0)
    list->AddRectFilled({from.x, end}, {at(static_cast<double>(row.floor)), end + thick}, palette().text);
  const auto line = [&](double tokens, ImU32 colour) {
    const float x = std::max(from.x, at(tokens) - thick);
    list->AddRectFilled({x - thick, from.y}, {x + 2 * thick, end + thick}, palette().panel);  // seen on any colour
    list->AddRectFilled({x, from.y}, {x + thick, end + thick}, colour);
  };
  if (static_cast<double>(row.ceiling) <= scale_) line(static_cast<double>(row.ceiling), palette().bad);
  line(row.share, palette().text);
}

}  // namespace canopy::inspector
