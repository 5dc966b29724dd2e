#include "tenant_tables.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace canopy::app {
namespace {

constexpr std::size_t kMostPayments = 8;

std::string tenant_name(const std::string& name) {
  return name.empty() ? "(no tenant)" : name == "*" ? "(all others)" : shown_name(name);
}

/// A column of the table of tenants. It is omitted if `some` is set and it is 0 in all rows.
struct Column {
  const char* head;
  std::uint64_t TenantUse::* figure;
  bool some = false;
};
constexpr Column kColumns[] = {{"evicted", &TenantUse::evicted}, {"paid", &TenantUse::paid},
                               {"taken", &TenantUse::taken},     {"below floor", &TenantUse::below_floor, true},
                               {"kept", &TenantUse::kept, true}, {"refused pins", &TenantUse::refused_pins, true}};

void add_figures(TenantUse& sum, const TenantUse& tenant) {
  for (const TenantFigure& each : kTenantFigures) sum.*each.figure += tenant.*each.figure;
  sum.share.floor += tenant.share.floor;
}

void print_payments(const std::vector<TenantPayment>& payments, const Terminal& terminal) {
  std::vector<TenantPayment> most = payments;
  std::sort(most.begin(), most.end(), [](const TenantPayment& a, const TenantPayment& b) {
    return std::tie(b.tokens, a.from, a.to) < std::tie(a.tokens, b.from, b.to);
  });
  std::uint64_t all = 0;
  for (const TenantPayment& payment : most) all += payment.tokens;
  fmt::print("\n");
  Grid grid({"evicted from", "for", "tokens", "of all", ""});
  for (std::size_t i = 0; i < std::min(kMostPayments, most.size()); ++i) {
    const bool unknown = most[i].from == "*" && most[i].to == "*";
    grid.row({{unknown ? "(other pairs)" : tenant_name(most[i].from)},
              {unknown ? "" : tenant_name(most[i].to)},
              {grouped(most[i].tokens)},
              {percent(most[i].tokens, all)},
              {}});
  }
  grid.print(terminal);
  if (most.size() > kMostPayments)
    fmt::print("{}\n", terminal.dim(fmt::format("  and {} more", plural(most.size() - kMostPayments, "pair"))));
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
  TenantUse rest;
  const std::size_t shown = std::min(most, tenants.size()), left = tenants.size() - shown;
  for (std::size_t i = shown; i < tenants.size(); ++i) add_figures(rest, tenants[i]);

  std::vector<Column> columns;
  std::copy_if(std::begin(kColumns), std::end(kColumns), std::back_inserter(columns), [&](const Column& column) {
    return !column.some || std::any_of(tenants.begin(), tenants.end(),
                                       [&](const TenantUse& tenant) { return tenant.*column.figure > 0; });
  });
  std::vector<std::string> heading{"tenant", "requests", "hit rate", "cached", "of the pool", "floor", "ceiling"};
  for (const Column& column : columns) heading.emplace_back(column.head);
  heading.emplace_back();
  Grid grid(std::move(heading));
  const auto add = [&](const TenantUse& tenant, const std::string& name, const std::string& ceiling) {
    std::vector<Grid::Cell> cells{{name},
                                  {grouped(tenant.requests)},
                                  {percent(tenant.hit_tokens, tenant.prompt_tokens)},
                                  {grouped(tenant.cached)},
                                  {pool_tokens == kUnlimited ? "-" : percent(tenant.cached, pool_tokens)},
                                  {tenant.share.floor ? grouped(tenant.share.floor) : "-"},
                                  {ceiling}};
    for (const Column& column : columns) cells.push_back({grouped(tenant.*column.figure)});
    cells.push_back({});
    grid.row(std::move(cells));
  };
  for (std::size_t i = 0; i < shown; ++i)
    add(tenants[i], tenant_name(tenants[i].name),
        tenants[i].share.ceiling == kUnlimited ? "-" : grouped(tenants[i].share.ceiling));
  if (left > 0) add(rest, fmt::format("({} more)", grouped(left)), "");
  grid.print(terminal);
  if (!payments.empty()) print_payments(payments, terminal);
}

}  // namespace canopy::app
