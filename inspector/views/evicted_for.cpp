#include "evicted_for.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "draw.h"

namespace canopy::inspector {
namespace {

/// Returns the names by the numbers of PaidTokens.
std::vector<std::string> payer_names(const Scene& scene) {
  std::vector<std::string> names;
  for (const MirrorTenant& tenant : scene.mirror.tenants().all) names.push_back(tenant.shown_name());
  if (names.empty())
    for (const History::Tenant& tenant : scene.time.history.tenants()) names.push_back(shown_name(tenant.name));
  return names;
}

}  // namespace

bool EvictedFor::update(const Scene& scene) {
  if (commits_ == scene.mirror.commits() && version_ == scene.figures.version()) return false;
  commits_ = scene.mirror.commits(), version_ = scene.figures.version();
  const MirrorTenants& tenants = scene.mirror.tenants();
  const RangeFigures& figures = scene.figures.all_tenants();
  const bool past = scene.figures.has_range() || tenants.all.empty();
  pairs_.clear();
  if (past) pairs_ = figures.paid;
  else
    for (const auto& [pair, tokens] : tenants.payments) pairs_.push_back({pair.first, pair.second, tokens});
  const std::size_t known = tenants.all.empty() ? scene.time.history.tenants().size() : tenants.all.size();
  std::erase_if(pairs_, [&](const PaidTokens& each) { return each.from >= known || each.taker >= known; });
  sort_paid(pairs_);
  all_ = other_ = past ? figures.other_paid : tenants.other_payments;
  for (const PaidTokens& each : pairs_) all_ += each.tokens;
  return true;
}

void EvictedFor::draw(const Scene& scene) const {
  text("who paid for whom");
  ImGui::SameLine(0, em() * 0.6F);
  dim(fitted(scene.figures.has_range()            ? "in the range"
             : scene.mirror.tenants().all.empty() ? "whole time"
                                                  : "since the engine began",
             ImGui::GetContentRegionAvail().x));
  if (all_ == 0) return dim("No tenant lost anything for another one.");
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("pairs", 4, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("from");
  ImGui::TableSetupColumn("for");
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 4.2F);
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 4.2F);
  column_heads({{"evicted from"}, {"for"}, {"tokens", true}, {"of all", true}});
  const std::vector<std::string> names = payer_names(scene);
  const auto row = [&](const std::string& from, const std::string& taker, std::uint64_t tokens) {
    ImGui::TableNextRow();
    for (const std::string& name : {from, taker}) {
      ImGui::TableNextColumn();
      text(fitted(name, ImGui::GetContentRegionAvail().x));
    }
    ImGui::TableNextColumn();
    number(brief(static_cast<double>(tokens)));
    ImGui::TableNextColumn();
    number(percent(tokens, all_));
  };
  const int others = other_ > 0 ? 1 : 0;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(pairs_.size()) + others);
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (at < pairs_.size()) row(names[pairs_[at].from], names[pairs_[at].taker], pairs_[at].tokens);
      else row("(other pairs)", "", other_);
    }
  ImGui::EndTable();
}

}  // namespace canopy::inspector
