#include "tenants_tab.h"

#include <account/listings.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "export_button.h"
#include "panels.h"

namespace canopy::inspector {

namespace {

/// Returns the figures of all tenants, with what they have in the tree at the moment that is shown.
std::vector<TenantFigures> tenants_now(const Scene& scene) {
  const History& history = scene.time.history;
  std::vector<std::uint64_t> held(history.tenants().size());
  for (std::size_t number = 0; number < scene.pools.spaces().size(); ++number)
    held[history.row_of(NamespaceId{static_cast<std::uint32_t>(number)})] += scene.pools.spaces()[number].tokens;
  std::vector<TenantFigures> rows = scene.figures.all_tenants().tenants;
  for (TenantFigures& row : rows) row.held = std::exchange(held[row.row], 0);
  for (std::uint32_t row = 0; row < held.size(); ++row)
    if (held[row] > 0)
      rows.push_back({.row = row, .name = history.tenants()[row].name, .counts = {}, .held = held[row]});
  return rows;
}

}  // namespace

listing::Listing<TenantFigures> TenantsTab::columns(const Scene& scene) const {
  return tenants_listing(scene.figures.all_tenants(),
                         scene.figures.has_range() ? &scene.figures.whole_tenants() : nullptr, held_);
}

void TenantsTab::list(const Scene& scene) {
  if (!listed_.changed(scene.figures.version(), scene.pools.commits(), order_, std::string(find_.data()))) return;
  all_ = rows_ = tenants_now(scene);
  held_ = 0;
  for (const TenantFigures& row : all_) held_ += row.held;
  std::erase_if(rows_,
                [&](const TenantFigures& tenant) { return tenant.name.find(find_.data()) == std::string::npos; });
  sort(rows_, columns(scene), order_);
}

void TenantsTab::draw_choice(const char* other, const char* help) {
  const bool shown = shares_shown_.value_or(false);
  if (choice(other, shown)) shares_shown_ = true;
  explain(help);
  ImGui::SameLine(0, em() * 0.4F);
  if (choice("use", !shown)) shares_shown_ = false;
  explain("Requests, hits, waste and regret of each namespace.");
  ImGui::SameLine(0, em() * 0.8F);
}

void TenantsTab::draw(Scene& scene) {
  const bool has_shares = !scene.mirror.tenants().all.empty();
  if (!shares_shown_ && has_shares) shares_shown_ = true;
  if (has_shares) {
    draw_choice("shares", "What each tenant may have of the pool and what it has, and which lost tokens for which.");
    return *shares_shown_ ? shares_.draw(scene) : draw_use(scene);
  }
  paid_.update(scene);
  const float room = ImGui::GetContentRegionAvail().x, pairs = em() * 25;
  if (room < em() * 76) {
    draw_choice("evicted for", "Which namespace lost tokens because which other one needed room.");
    return shares_shown_.value_or(false) ? paid_.draw(scene) : draw_use(scene);
  }
  ImGui::BeginChild("use", {room - pairs - em(), 0});
  draw_use(scene);
  ImGui::EndChild();
  ImGui::SameLine(0, em());
  ImGui::BeginChild("paid");
  paid_.draw(scene);
  ImGui::EndChild();
}

void TenantsTab::draw_use(Scene& scene) {
  dim(fmt::format("{}; cached: moment", figures_word(FiguresOf::past, scene)));
  ImGui::SameLine(0, em() * 0.8F);
  ImGui::SetNextItemWidth(std::max(em() * 3, std::min(em() * 9, ImGui::GetContentRegionAvail().x - em() * 8)));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, 0});
  ImGui::InputTextWithHint("##tenant", "part of a name", find_.data(), find_.size());
  ImGui::PopStyleVar();
  list(scene);
  ImGui::SameLine(0, em() * 0.8F);
  if (scene.selection.space) {
    if (button("show all")) scene.selection.space.reset();
    explain("Lists, charts and figures then show all namespaces again (Esc).");
  } else {
    dim(fitted(plural(rows_.size(), "tenant"), ImGui::GetContentRegionAvail().x));
  }
  export_button(scene, "CSV", "canopy-tenants.csv", "all tenants' figures",
                [&] { return listing::csv_of(tenants_listing(scene.figures.all_tenants(), nullptr, held_), all_); });
  if (rows_.empty())
    return nothing_here(*find_.data() == 0 ? "No namespace has done anything yet."
                                           : fmt::format("No namespace has '{}' in its name.", find_.data()));
  const auto known = [&](const TenantFigures& tenant) -> const History::Tenant& {
    return scene.time.history.tenants()[tenant.row];
  };
  const auto is_chosen = [&](const TenantFigures& tenant) {
    return tenant.row != 0 && scene.selection.space == known(tenant).space;
  };
  ListTable<TenantFigures>{
      .id = "tenants",
      .columns = columns(scene),
      .click =
          [&](const TenantFigures& tenant) {
            if (tenant.row != 0)
              scene.selection.space = is_chosen(tenant) ? std::nullopt : std::optional(known(tenant).space);
          },
      .is_chosen = is_chosen,
      .explain =
          [](const TenantFigures& tenant) {
            return tenant.row == 0 ? "All namespaces without a row of their own."
                                   : fmt::format("{}. Click to show only this namespace everywhere.", tenant.name);
          },
      .draw_cell =
          [&](const std::string& head, const TenantFigures& tenant) {
            if (head != "tenant") return false;
            swatch(tenant.row == 0 ? palette().tombstone : palette().of(known(tenant).space),
                   fitted(tenant.name, ImGui::GetContentRegionAvail().x - em() * 1.2F));
            return true;
          },
      .order = &order_,
  }
      .draw(rows_);
}

PanelInfo tenants_tab() {
  return {
      .title = "TENANTS",
      .row = Row::tab,
      .key = '8',
      .help = "Who uses the cache, and what for? Click a namespace to see only it everywhere",
      .make = make_panel<TenantsTab>,
      .figures = FiguresOf::past,
      .not_in_events = "Not known: KV events report neither requests nor hits.",
  };
}

}  // namespace canopy::inspector
