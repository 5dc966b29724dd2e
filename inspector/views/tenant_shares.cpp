#include "tenant_shares.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace canopy::inspector {
namespace {

listing::Listing<TenantShares::Row> columns() {
  using Row = TenantShares::Row;
  using listing::Tone, listing::Unit, listing::Value, listing::unless_zero;
  listing::Listing<Row> list;
  const auto tokens = [&](const char* head, std::uint64_t Row::* which) -> listing::Column<Row>& {
    return list.add(head, Unit::tokens, [which](const Row& row) { return unless_zero(row.*which); });
  };
  list.add("tenant", Unit::text, [](const Row& row) { return row.name; })
      .means("A tenant of the engine's file, or every other one for itself.")
      .explained([](const Row& row) { return row.name; });
  list.add("share", Unit::text, [](const Row& row) { return row.cached; })  // drawn as a bar
      .means("Bar: what it has. Tall line: its share. Line below: its floor. Red line: its ceiling.")
      .explained([](const Row& row) {
        return fmt::format("{}: {} of its share of {} tokens", row.name, grouped(row.cached),
                           grouped(static_cast<std::uint64_t>(std::llround(row.share))));
      });
  tokens("cached", &Row::cached).wide(4.2F).means("Tokens in the tree at this moment.");
  list.add("above", Unit::tokens, [](const Row& row) { return listing::Change{row.above()}; })
      .wide(4.4F)
      .means(
          "Distance from its share: its floor and, by weight, its part of what the floors of all tenants that have "
          "something leave. The tenant furthest above, by weight, loses first.")
      .in_tone([](const Row& row) {
        return row.below_floor > 0   ? Tone::bad
               : row.above() >= 0.5  ? Tone::warn
               : row.above() <= -0.5 ? Tone::good
                                     : Tone::plain;
      });
  tokens("floor", &Row::floor).wide(3.8F, 28).means("Tokens that are not evicted for other tenants.");
  list.add("ceiling", Unit::tokens,
           [](const Row& row) { return row.ceiling == kUnlimited ? Value() : Value(row.ceiling); })
      .wide(4.2F, 36)
      .means("Most tokens that it may have; with more it evicts its own.");
  tokens("paid", &Row::paid).wide(4).means("Tokens that it lost because another tenant needed room.");
  tokens("taken", &Row::taken).wide(4, 28).means("Tokens that other tenants lost because it needed room.");
  tokens("below floor", &Row::below_floor)
      .wide(5.5F)
      .if_any()
      .means("Part of what it lost that its floor protected: nothing else could leave.");
  return list;
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
}

void TenantShares::draw(Scene& scene) {
  list(scene);
  if (sorted_.changed(scene.mirror.commits(), scene.figures.version(), order_)) sort(rows_, columns(), order_);
  const auto above = std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.above() >= 0.5; });
  dim(fitted(fmt::format("{} of {} above their share", above, plural(rows_.size(), "tenant")),
             ImGui::GetContentRegionAvail().x));
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool beside = room.x > em() * 62;
  ImGui::BeginChild("shares", beside ? ImVec2(room.x - em() * 25, 0) : ImVec2(0, room.y * 0.56F));
  ListTable<Row>{
      .id = "shares",
      .columns = columns(),
      .draw_cell =
          [&](const std::string& head, const Row& row) {
            if (head == "tenant") swatch(row.colour, fitted(row.name, ImGui::GetContentRegionAvail().x - em() * 1.2F));
            else if (head == "share") draw_bar(row);
            else return false;
            return true;
          },
      .order = &order_,
  }
      .draw(rows_);
  ImGui::EndChild();
  if (beside) ImGui::SameLine(0, em());
  ImGui::BeginChild("paid");
  paid_.draw(scene);
  ImGui::EndChild();
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
