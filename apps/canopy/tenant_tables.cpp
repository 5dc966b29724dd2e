#include "tenant_tables.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <mirror/listings.h>

#include <algorithm>
#include <ranges>
#include <tuple>

#include "listing_print.h"

namespace canopy::app {
namespace {

using listing::Listing;
using listing::Share;
using listing::unless_zero;
using listing::Value;
using Unit = listing::Unit;

constexpr std::size_t kMostPayments = 8;

std::string tenant_name(const std::string& name) {
  return name.empty() ? "(no tenant)" : name == "*" ? "(all others)" : shown_name(name);
}

void add_figures(TenantUse& sum, const TenantUse& tenant) {
  for (const TenantFigure& each : kTenantFigures) sum.*each.figure += tenant.*each.figure;
  sum.share.floor += tenant.share.floor;
}

/// A row: a tenant, or the sum of the rest.
struct TenantLine {
  std::string name;
  TenantUse use;
  bool is_rest = false;
};

/// `pool_tokens`: see print_tenants().
Listing<TenantLine> tenants_listing(std::uint64_t pool_tokens) {
  using Row = TenantLine;
  Listing<Row> list;
  const auto add = [&](const char* head, std::uint64_t TenantUse::* which) -> listing::Column<Row>& {
    return list.add(head, Unit::count, [which](const Row& row) { return row.use.*which; });
  };
  list.add("tenant", Unit::text, [](const Row& row) { return row.name; });
  add("requests", &TenantUse::requests);
  list.add("hit rate", Unit::count, [](const Row& row) { return Share{row.use.hit_tokens, row.use.prompt_tokens}; });
  add("cached", &TenantUse::cached);
  list.add("of the pool", Unit::count, [pool_tokens](const Row& row) {
    return pool_tokens == kUnlimited ? Value() : Value(Share{row.use.cached, pool_tokens});
  });
  list.add("floor", Unit::count, [](const Row& row) { return unless_zero(row.use.share.floor); });
  list.add("ceiling", Unit::count, [](const Row& row) {
    if (row.is_rest) return Value(std::string());
    return row.use.share.ceiling == kUnlimited ? Value() : Value(row.use.share.ceiling);
  });
  add("evicted", &TenantUse::evicted), add("paid", &TenantUse::paid), add("taken", &TenantUse::taken);
  add("below floor", &TenantUse::below_floor).if_any();
  add("kept", &TenantUse::kept).if_any();
  add("refused pins", &TenantUse::refused_pins).if_any();
  return list;
}

void print_payments(std::vector<TenantPayment> payments, const Terminal& terminal) {
  std::sort(payments.begin(), payments.end(), [](const TenantPayment& a, const TenantPayment& b) {
    return std::tie(b.tokens, a.from, a.to) < std::tie(a.tokens, b.from, b.to);
  });
  std::uint64_t all = 0;
  for (const TenantPayment& payment : payments) all += payment.tokens;
  std::vector<inspector::Payment> most;
  for (const TenantPayment& each : payments | std::views::take(kMostPayments)) {
    const bool unknown = each.from == "*" && each.to == "*";
    most.push_back(unknown ? inspector::Payment{"(other pairs)", "", each.tokens}
                           : inspector::Payment{tenant_name(each.from), tenant_name(each.to), each.tokens});
  }
  fmt::print("\n");
  print_list(inspector::payments_listing(all), most, terminal);
  if (payments.size() > kMostPayments)
    fmt::print("{}\n", terminal.dim(fmt::format("  and {} more", plural(payments.size() - kMostPayments, "pair"))));
}

}  // namespace

void print_tenants(std::vector<TenantUse> tenants, const std::vector<TenantPayment>& payments,
                   std::uint64_t pool_tokens, std::size_t most, const Terminal& terminal) {
  // Requests without a tenant are usually none.
  std::erase_if(tenants, [](const TenantUse& tenant) {
    return tenant.name.empty() && tenant.requests == 0 && tenant.cached == 0 && tenant.evicted == 0;
  });
  if (tenants.empty()) return;
  std::sort(tenants.begin(), tenants.end(), [](const TenantUse& a, const TenantUse& b) {
    return std::tie(b.cached, b.prompt_tokens, a.name) < std::tie(a.cached, a.prompt_tokens, b.name);
  });
  std::vector<TenantLine> rows;
  for (const TenantUse& tenant : tenants | std::views::take(most)) rows.push_back({tenant_name(tenant.name), tenant});
  if (tenants.size() > most) {
    TenantLine& rest = rows.emplace_back();
    rest.name = fmt::format("({} more)", grouped(tenants.size() - most)), rest.is_rest = true;
    for (const TenantUse& tenant : tenants | std::views::drop(most)) add_figures(rest.use, tenant);
  }
  print_list(tenants_listing(pool_tokens), rows, terminal);
  if (!payments.empty()) print_payments(payments, terminal);
}

}  // namespace canopy::app
