/// The cost of an eviction among many tenants: of the index, and of an engine that also chooses which tenant loses.
#include <canopy/tenant_index.h>
#include <fmt/format.h>

#include <array>
#include <memory>

#include "clock.h"
#include "subject.h"

namespace canopy::bench {
namespace {

constexpr Units kTenantPage = 16;
constexpr std::uint32_t kLeaves = 200'000;

std::string index_name(std::uint32_t tenants) {
  return fmt::format("tenants: evict one page of one of {}, {} leaves, page {}", tenants, kLeaves, kTenantPage);
}

/// Measures evictions of the index from each tenant in turn; all have as many leaves.
Result<std::monostate> measure_index(const Setting& setting, std::uint32_t tenants, Report& report) {
  Measured figures;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    auto subject = make_subject(setting, false, kTenantPage);
    if (!subject) return subject.error();
    PrefixIndex& index = *subject->index;
    TenantIndex* const apart = index.tenants();
    if (!apart) return std::monostate{};
    for (std::uint32_t tenant = 0; tenant < tenants; ++tenant)
      if (!apart->assign(NamespaceId{tenant}, TenantId{tenant})) return Error{"no memory for the tenants"};
    std::array<std::uint32_t, kTenantPage> words{};
    for (std::uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
      words[0] = leaf;
      const std::array<Page, 1> page{leaf + 1};
      index.release(index.insert({}, {NamespaceId{leaf % tenants}, words}, {page}, {}).lock);
    }
    const std::uint32_t calls = kLeaves / 2;
    std::uint32_t left = 0;
    const double start = cpu_now();
    for (std::uint32_t call = 0; call < calls; ++call)
      left += static_cast<std::uint32_t>(
          apart->evict(TenantId{call % tenants}, 0, 1, 1, Cause::ceiling, nullptr)[0].size());
    const double took = cpu_now() - start;
    if (left != calls) return Error{fmt::format("{} evictions of a page freed {}", calls, left)};
    figures.ours.add(took / calls);
  }
  report.rows.push_back(figures.row("Tenants kept apart", index_name(tenants), "a call"));
  return std::monostate{};
}

/// The protection of tenants that an engine has.
enum class Floors {
  none,       ///< each has something above its share
  give_way,   ///< the floors of all fill the pool, so that each eviction breaks one
  no_tenants  ///< the engine has no tenants: the same namespaces in one queue
};

std::string engine_name(std::uint32_t tenants, Floors floors) {
  return fmt::format("tenants: an engine chooses one of {}{} and evicts a page, {} leaves, page {}", tenants,
                     floors == Floors::give_way ? " whose floors fill the pool" : "", kLeaves, kTenantPage);
}

/// Returns an engine whose pool is full of one-page leaves, as many of each tenant.
Result<std::unique_ptr<Engine>> full_engine(const Setting& setting, std::uint32_t tenants, Floors floors) {
  auto engine = make_engine(
      setting.registry,
      fmt::format("{{ page_size: {}, index: {}, groups: {{ full: {{ reach: path, capacity: {}, allocator: free_list, "
                  "eviction: lru }} }}, store: none{} }}",
                  kTenantPage, setting.options.index, kLeaves * kTenantPage,
                  floors == Floors::no_tenants ? "" : ", tenants: { '*': { weight: 1 } }"));
  if (!engine) return engine;
  std::vector<NamespaceId> spaces;
  for (std::uint32_t tenant = 0; tenant < tenants; ++tenant) {
    const std::string name = fmt::format("tenant-{}", tenant);
    spaces.push_back((*engine)->intern({.tenant = name}));
    if (floors == Floors::give_way)
      if (auto set = (*engine)->set_share(name, {.floor = kLeaves / tenants * kTenantPage}); !set) return set.error();
  }
  std::array<Token, kTenantPage> prompt{};
  for (std::uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
    prompt[0] = leaf;
    Request request = (*engine)->begin({.prompt = prompt, .space = spaces[leaf % tenants]});
    if (!request.reserve(kTenantPage)) return Error{"the pool is too small for its leaves"};
    request.finish(kTenantPage);
  }
  return engine;
}

Result<std::monostate> measure_engine(const Setting& setting, std::uint32_t tenants, Floors floors, Report& report) {
  Measured figures;
  const std::uint32_t calls = kLeaves / (setting.options.quick ? 10 : 2);
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition)
    for (const Floors each : {floors, Floors::no_tenants}) {
      auto engine = full_engine(setting, tenants, each);
      if (!engine) return engine.error();
      bool all = true;
      const double start = cpu_now();
      for (std::uint32_t call = 1; call <= calls; ++call) all &= (*engine)->make_free(0, call);
      const double took = cpu_now() - start;
      if (!all) return Error{"an engine evicted nothing, and nothing in it is locked"};
      (each == floors ? figures.ours : figures.floor).add(took / calls);
    }
  report.rows.push_back(figures.row("Tenants kept apart", engine_name(tenants, floors), "a call",
                                    "the floor is an engine without tenants"));
  return std::monostate{};
}

}  // namespace

void add_tenant_cases(const Options&, std::vector<Case>& cases) {
  for (const std::uint32_t tenants : {1U, 100U, 100'000U}) {
    cases.push_back({{index_name(tenants)}, [tenants](const Setting& setting, Report& report) {
                       return measure_index(setting, tenants, report);
                     }});
    for (const Floors floors : {Floors::none, Floors::give_way})
      cases.push_back({{engine_name(tenants, floors)}, [tenants, floors](const Setting& setting, Report& report) {
                         return measure_engine(setting, tenants, floors, report);
                       }});
  }
}

}  // namespace canopy::bench
