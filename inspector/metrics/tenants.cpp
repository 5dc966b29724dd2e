#include "tenants.h"

namespace canopy::metrics {
std::size_t Tenants::row_of(const inspector::Mirror& mirror, NamespaceId space) {
  const auto number = static_cast<std::uint32_t>(space);
  if (const auto known = by_number_.find(number); known != by_number_.end()) return known->second;
  const std::string label = mirror.space_name(space);
  auto row = by_label_.find(label);
  if (row == by_label_.end()) {
    if (rows_.size() == most_) return most_;
    row = by_label_.emplace(label, rows_.size()).first;
    rows_.push_back({label, 0, 0, 0, {}});
  }
  by_number_.emplace(number, row->second);
  return row->second;
}

void Tenants::see(const inspector::Mirror& mirror, NamespaceId space) {
  if (row_of(mirror, space) == most_) shared_row_used_ = true;
}

void Tenants::count(const inspector::Mirror& mirror, const inspector::MirrorRequest& request) {
  see(mirror, request.space);
  const std::size_t at = row_of(mirror, request.space);
  TenantFigures& row = at == most_ ? others_ : rows_[at];
  ++row.requests;
  row.prompt_tokens += request.prompt;
  row.hit_tokens += request.matched;
}

void Tenants::forget_numbers() { by_number_.clear(); }

std::vector<TenantFigures> Tenants::figures(const inspector::Mirror* mirror, std::uint64_t tokens) const {
  std::vector<TenantFigures> all = rows_;
  if (mirror) {
    for (TenantFigures& row : all) row.resident_tokens = 0;
    for (const auto& [number, row] : by_number_) {
      const std::uint64_t here = number < mirror->spaces().size() ? mirror->spaces()[number].tokens : 0;
      *all[row].resident_tokens += here;
      tokens -= here;
    }
  }
  if (!shared_row_used_) return all;
  all.push_back(others_);
  if (mirror) all.back().resident_tokens = tokens;
  return all;
}

}  // namespace canopy::metrics
