/// The replay of replay_rows under each policy, next to the same under lru: the cost of a policy, and its hits.
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include "clock.h"
#include "index_replay.h"
#include "subject.h"

namespace canopy::bench {
namespace {

constexpr Units kPageSize = 16;

std::string policy_row(const std::string& policy) {
  return fmt::format("policy: match + insert + evict + release under {}, page {}", policy, kPageSize);
}

/// Measures the policy and lru in turns.
Result<std::monostate> measure_policy(const Setting& setting, const std::string& policy, Report& report) {
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
  report.rows.push_back({"Policies: the floor is lru", policy_row(policy), Kind::time, "a request", ours.spread(share),
                         lru.spread(share), std::nullopt,
                         fmt::format("{} hit tokens, lru {}", grouped(last.hit_tokens), grouped(last_lru.hit_tokens))});
  return std::monostate{};
}

}  // namespace

void add_policy_cases(const Options&, std::vector<Case>& cases) {
  for (const std::string policy : {"clock", "hazard"})
    cases.push_back({{policy_row(policy)}, [policy](const Setting& setting, Report& report) {
                       return measure_policy(setting, policy, report);
                     }});
}

}  // namespace canopy::bench
