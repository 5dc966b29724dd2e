/// The replay of replay_rows under each policy, next to the same under lru: the cost of a policy, and its hits. And the
/// cost of an eviction from one of many tenants.
#include <canopy/base/figures.h>
#include <canopy/tenant_index.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "clock.h"
#include "index_replay.h"
#include "subject.h"

namespace canopy::bench {
namespace {

constexpr Units kPageSize = 16;

std::string name_of(const std::string& policy) {
  return fmt::format("policy: match + insert + evict + release under {}, page {}", policy, kPageSize);
}

/// Measures the policy and lru in turns.
Result<std::monostate> measure(const Setting& setting, const std::string& policy, std::vector<Row>& rows) {
  Repeated ours, lru;
  Replayed last, last_lru;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    const auto theirs = replay_index(setting, setting.options.index, kPageSize);
    if (!theirs) return theirs.error();
    const auto mine = replay_index(setting, setting.options.index, kPageSize, {}, policy);
    if (!mine) return mine.error();
    last = *mine, last_lru = *theirs;
    ours.add(mine->four()), lru.add(theirs->four());
  }
  const double share = 1 / static_cast<double>(last.requests);
  rows.push_back({"Policies: the floor is lru", name_of(policy), Kind::time, "a request", ours.spread(share),
                  lru.spread(share), std::nullopt,
                  fmt::format("{} hit tokens, lru {}", grouped(last.hit_tokens), grouped(last_lru.hit_tokens))});
  return std::monostate{};
}

constexpr std::uint32_t kLeaves = 200'000;

std::string name_of(std::uint32_t tenants) {
  return fmt::format("tenants: evict one page of one of {}, {} leaves, page {}", tenants, kLeaves, kPageSize);
}

/// Measures evictions from each tenant in turn; all have as many leaves.
Result<std::monostate> measure(const Setting& setting, std::uint32_t tenants, std::vector<Row>& rows) {
  Measured figures;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    auto subject = make_subject(setting, false, kPageSize);
    if (!subject) return subject.error();
    PrefixIndex& index = *subject->index;
    TenantIndex* const apart = index.tenants();
    if (!apart) return std::monostate{};
    for (std::uint32_t tenant = 0; tenant < tenants; ++tenant)
      if (!apart->assign(NamespaceId{tenant}, TenantId{tenant})) return Error{"no memory for the tenants"};
    std::array<std::uint32_t, kPageSize> words{};
    for (std::uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
      words[0] = leaf;
      const std::array<Page, 1> page{leaf + 1};
      index.release(index.insert({}, {NamespaceId{leaf % tenants}, words}, {page}, {}).lock);
    }
    const std::uint32_t calls = kLeaves / 2;
    std::uint32_t left = 0;
    const double took = seconds_of([&] {
      for (std::uint32_t call = 0; call < calls; ++call)
        left += static_cast<std::uint32_t>(
            apart->evict(TenantId{call % tenants}, 0, 1, 1, Cause::ceiling, nullptr)[0].size());
    });
    if (left != calls) return Error{fmt::format("{} evictions of a page freed {}", calls, left)};
    figures.ours.add(took / calls);
  }
  rows.push_back(figures.row("Tenants kept apart", name_of(tenants), "a call"));
  return std::monostate{};
}

}  // namespace

void add_policy_cases(const Options&, std::vector<Case>& cases) {
  for (const std::string policy : {"clock", "hazard"})
    cases.push_back({"Policies", {name_of(policy)}, [policy](const Setting& setting, Report&, std::vector<Row>& rows) {
                       return measure(setting, policy, rows);
                     }});
  for (const std::uint32_t tenants : {1U, 100U, 100'000U})
    cases.push_back({"Tenants", {name_of(tenants)}, [tenants](const Setting& setting, Report&, std::vector<Row>& rows) {
                       return measure(setting, tenants, rows);
                     }});
}

}  // namespace canopy::bench
