#include "tenants_tab.h"

#include <account/tables.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <account/listings.h>
#include <mirror/names.h>

#include <algorithm>

#include "draw.h"
#include "export_button.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

enum Column : std::size_t { kName, kRequests, kPrompt, kHit, kHitWhole, kHeld, kShare, kWaste, kRegret, kLocked };

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? -1 : static_cast<double>(part) / static_cast<double>(whole);
}

double value_of(const TenantFigures& tenant, std::size_t column) {
  const auto count = [&](Count which) { return static_cast<double>(tenant.counts[which]); };
  switch (column) {
    case kRequests:
      return count(Count::requests);
    case kHit:
    case kHitWhole:
      return share(tenant.counts[Count::hit], tenant.counts[Count::prompt]);
    case kHeld:
    case kShare:
      return static_cast<double>(tenant.held);
    case kWaste:
      return count(Count::wasted);
    case kRegret:
      return count(Count::regretted);
    case kLocked:
      return static_cast<double>(tenant.locked_us);
    default:
      return count(Count::prompt);
  }
}

std::string name_of(const TenantFigures& tenant) { return tenant.name.empty() ? "(shared)" : tenant.name; }

}  // namespace

void TenantsTab::list(const Scene& scene) {
  const bool same_order = ordered_.column == order_.column && ordered_.falling == order_.falling;
  if (version_ == scene.figures.version() && same_order && found_ == find_.data()) return;
  version_ = scene.figures.version(), ordered_ = order_, found_ = find_.data();
  rows_ = scene.figures.all_tenants().tenants;
  std::erase_if(rows_, [&](const TenantFigures& tenant) { return name_of(tenant).find(found_) == std::string::npos; });
  std::sort(rows_.begin(), rows_.end(), [&](const TenantFigures& a, const TenantFigures& b) {
    const TenantFigures &first = order_.falling ? a : b, &second = order_.falling ? b : a;
    if (order_.column == kName) return name_of(first) > name_of(second);
    const auto one = value_of(first, order_.column), other = value_of(second, order_.column);
    return one != other ? one > other : a.name < b.name;
  });
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
  dim(scene.figures.has_range() ? "in the range" : "whole time");
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
  export_button(scene, "CSV", "canopy-tenants.csv", "all tenants' figures", [&] {
    return listing::csv_of(tenants_listing(scene.figures.all_tenants()), scene.figures.all_tenants().tenants);
  });
  if (rows_.empty())
    return nothing_here(found_.empty() ? "No namespace has done anything yet."
                                       : fmt::format("No namespace has '{}' in its name.", found_));
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  const bool narrow = ImGui::GetContentRegionAvail().x < em() * 46,
             small = ImGui::GetContentRegionAvail().x < em() * 36;
  if (!ImGui::BeginTable("tenants", 10, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("tenant");
  constexpr float kWidths[] = {4.2F, 4.4F, 3.3F, 3.3F, 3.6F, 3.4F, 3.6F, 3.6F, 4.F};
  for (std::size_t i = 0; i < std::size(kWidths); ++i) {
    const std::size_t column = i + 1;
    const bool hidden = (column == kHitWhole && !scene.figures.has_range()) || (column == kRequests && narrow) ||
                        ((column == kHitWhole || column == kShare || column == kLocked) && small);
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed | (hidden ? ImGuiTableColumnFlags_Disabled : 0),
                            kWidths[i] * em());
  }
  sorted_heads(
      {{"tenant", false, "A namespace: only its requests share prefixes."},
       {"requests", true, "Requests that began."},
       {"prompt", true, "Tokens of their prompts."},
       {"hit", true, "Share of the prompt tokens that were found."},
       {"(whole)", true, "The same, over the whole time."},
       {"cached", true, "Tokens in the tree, at the end of the range or now."},
       {"share", true, "Share of all tokens in the tree."},
       {"waste", true, "Tokens that were computed, never hit, and evicted."},
       {"regret", true, "Tokens that were evicted and computed again."},
       {"locked", true, "Time for which its requests ran, and so locked their prefixes; summed over requests."}},
      order_);
  const std::uint64_t held = scene.figures.all_tenants().held;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows_.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_row(scene, rows_[static_cast<std::size_t>(i)], held);
  ImGui::EndTable();
}

void TenantsTab::draw_row(Scene& scene, const TenantFigures& tenant, std::uint64_t held) const {
  const History::Tenant& known = scene.time.history.tenants()[tenant.row];
  const bool chosen = tenant.row != 0 && scene.selection.space == known.space;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushID(static_cast<int>(tenant.row));
  if (ImGui::Selectable("##row", chosen, ImGuiSelectableFlags_SpanAllColumns) && tenant.row != 0)
    scene.selection.space = chosen ? std::nullopt : std::optional(known.space);
  ImGui::PopID();
  explain(tenant.row == 0 ? "All namespaces without a row of their own."
                          : fmt::format("{}. Click to show only this namespace everywhere.", name_of(tenant)));
  ImGui::SameLine(0, 0);
  swatch(tenant.row == 0 ? palette().tombstone : palette().of(known.space),
         fitted(name_of(tenant), ImGui::GetContentRegionAvail().x - em() * 1.2F));
  const Counts& counts = tenant.counts;
  const auto column = [](const std::string& words) {
    ImGui::TableNextColumn();
    number(words);
  };
  const auto amount = [](std::uint64_t count) { return count == 0 ? "-" : brief(static_cast<double>(count)); };
  const auto rate = [](const Counts& of) { return percent(of[Count::hit], of[Count::prompt]); };
  column(grouped(counts[Count::requests]));
  column(amount(counts[Count::prompt]));
  column(rate(counts));
  ImGui::TableNextColumn();
  if (scene.figures.has_range()) {
    const auto& whole = scene.figures.whole_tenants().tenants;
    const auto same =
        std::find_if(whole.begin(), whole.end(), [&](const auto& each) { return each.name == tenant.name; });
    const std::string words = same == whole.end() ? "-" : rate(same->counts);
    const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(words.c_str()).x;
    if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
    dim(words);
  }
  column(amount(tenant.held));
  column(percent(tenant.held, held));
  column(amount(counts[Count::wasted]));
  column(amount(counts[Count::regretted]));
  column(tenant.locked_us == 0 ? "-" : duration(static_cast<double>(tenant.locked_us) / 1e6));
}

PanelInfo tenants_tab() {
  return {
      .title = "TENANTS",
      .row = Row::tab,
      .key = '8',
      .help = "Who uses the cache, and what for? Click a namespace to see only it everywhere",
      .make = make_panel<TenantsTab>,
      .not_in_events = "Not known: KV events report neither requests nor hits.",
  };
}

}  // namespace canopy::inspector
