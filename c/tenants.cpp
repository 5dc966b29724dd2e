#include <canopy/c/tenants.h>

#include <array>
#include <iterator>

#include "handles.h"

using namespace canopy;
using namespace canopy::c;

namespace {

/// Calls body(use), with what became of a tenant's share.
template <class Body>
canopy_code on_tenant(const canopy_engine* handle, const char* function, std::size_t tenant, Body&& body) noexcept {
  return on_engine(handle, function, [&](canopy_engine& on) -> canopy_code {
    const std::vector<TenantUse> all = on.engine->tenants();
    if (tenant < all.size()) return body(all[tenant]);
    return fail(CANOPY_BAD_ARGUMENT, function, "tenant {} of {}", tenant, all.size());
  });
}

}  // namespace

canopy_code canopy_engine_set_share(canopy_engine* engine, const char* tenant, const canopy_share* share) {
  constexpr const char* kName = "canopy_engine_set_share";
  if (!tenant) return fail_without(kName, "tenant");
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    canopy_share own{};
    if (const canopy_code code = take(kName, "share", share, own)) return code;
    const auto done = on.engine->set_share(tenant, {own.floor, own.weight, own.ceiling, own.puts, own.pins});
    return done ? CANOPY_OK : fail(CANOPY_REFUSED, kName, "{}", done.error().text);
  });
}

canopy_code canopy_engine_tenants(const canopy_engine* engine, size_t* count) {
  constexpr const char* kName = "canopy_engine_tenants";
  if (!count) return fail_without(kName, "count");
  return on_engine(engine, kName, [&](canopy_engine& on) {
    *count = on.engine->tenants().size();
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_tenant(const canopy_engine* engine, size_t tenant, char* name, size_t room, size_t* length,
                                 canopy_share* share) {
  constexpr const char* kName = "canopy_engine_tenant";
  return on_tenant(engine, kName, tenant, [&](const TenantUse& use) -> canopy_code {
    if (share) {
      if (const canopy_code code = check_result(kName, "share", share)) return code;
      give(canopy_share{0, use.share.floor, use.share.weight, use.share.ceiling, use.share.puts, use.share.pins},
           share);
    }
    return name || length ? copy_text(kName, use.name, name, room, length) : CANOPY_OK;
  });
}

const char* canopy_tenant_figure_name(size_t i) {
  return i < std::size(kTenantFigures) ? kTenantFigures[i].name : nullptr;
}

canopy_code canopy_engine_tenant_figures(const canopy_engine* engine, size_t tenant, uint64_t* to, size_t room,
                                         size_t* length) {
  constexpr const char* kName = "canopy_engine_tenant_figures";
  return on_tenant(engine, kName, tenant, [&](const TenantUse& use) {
    std::array<std::uint64_t, std::size(kTenantFigures)> figures{};
    for (std::size_t i = 0; i < figures.size(); ++i) figures[i] = use.*kTenantFigures[i].figure;
    return copy_rest(kName, figures.data(), figures.size(), 0, to, room, length);
  });
}
