#include "evicted_for.h"

#include <canopy/base/printable.h>
#include <mirror/listings.h>

#include <algorithm>
#include <string>

#include "list_table.h"
#include "panel.h"

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
  if (!summed_.changed(scene.mirror.commits(), scene.figures.version())) return false;
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
  const std::vector<std::string> names = payer_names(scene);
  rows_.clear();
  for (const PaidTokens& each : pairs_) rows_.push_back({names[each.from], names[each.taker], each.tokens});
  if (other_ > 0) rows_.push_back({"(other pairs)", "", other_});
  return true;
}

void EvictedFor::draw(const Scene& scene) const {
  text("who paid for whom");
  explain("Tokens that left one tenant because a request of another needed room, without what each lost for itself.");
  ImGui::SameLine(0, em() * 0.6F);
  const FiguresOf of = scene.mirror.tenants().all.empty() ? FiguresOf::past : FiguresOf::listed;
  dim(fitted(figures_word(of, scene), ImGui::GetContentRegionAvail().x));
  if (all_ == 0) return dim("No tenant lost anything for another one.");
  ListTable<Payment>{.id = "pairs", .columns = payments_listing(all_)}.draw(rows_);
}

}  // namespace canopy::inspector
