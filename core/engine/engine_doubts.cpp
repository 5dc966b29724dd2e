/// The reasons why figures of an engine are not those of the configured one.
#include <canopy/base/figures.h>
#include <canopy/engine/engine.h>
#include <fmt/format.h>

#include <algorithm>

#include <cache/guard/index_port.h>
#include "impl.h"

namespace canopy {
namespace {

void add_index(Doubts& doubts, const CacheState& state, const char* whose) {
  const std::uint64_t cut = state.index->call("use", &PrefixIndex::use).inserts_cut_short;
  if (cut > 0)
    doubts.push_back(
        {Doubt::Kind::memory, cut,
         fmt::format(
             "there was not enough memory for {} of {} matches, inserts and evictions: hits and digest are those of a "
             "smaller cache",
             grouped(cut), whose)});
}

void add_pool(Doubts& doubts, const Pool& pool, const char* tier) {
  if (pool.refusals() == 0) return;
  std::string sentence = pool.memory();
  if (sentence.empty())
    sentence = fmt::format("group '{}': the system refused memory {}, so the pool was smaller for a while",
                           pool.group(), plural(pool.refusals(), "time"));
  sentence.insert(0, tier);
  doubts.push_back({Doubt::Kind::memory, pool.refusals(), std::move(sentence)});
}

void add_lacked(Doubts& doubts, std::uint64_t lacked) {
  if (lacked > 0)
    doubts.push_back(
        {Doubt::Kind::memory, lacked,
         fmt::format("there was not enough memory for {} of the engine, which {} left out: hits and digest "
                     "may be those of a smaller cache",
                     plural(lacked, "step"), lacked == 1 ? "was" : "were")});
}

void add_host(Doubts& doubts, const HostTier& host, const CacheState& device) {
  const CacheState& tier = host.state();
  for (const Pool& pool : tier.pools) add_pool(doubts, pool, "host tier, ");
  add_index(doubts, tier, "the host tier's index's");
  for (std::size_t g = 0; g < tier.pools.size(); ++g) {
    const std::uint64_t wanted = tier.pools[g].limit(), page = host.images(g).record_bytes();
    const std::uint64_t refused = std::min(wanted, device.tiers.at(Counter::refused_pages_host, g));
    if (refused == 0) continue;
    const std::uint64_t has = std::min(wanted, host.images(g).with_memory());
    doubts.push_back(
        {Doubt::Kind::memory, refused,
         fmt::format(
             "host tier, group '{}': the system refused memory for {} pages: the tier has memory for {} pages of {} "
             "bytes ({:.1f} MiB), and {} pages of {} tokens were wanted",
             tier.groups[g].name, refused, has, page, static_cast<double>(has * page) / (1 << 20), wanted,
             wanted * tier.page_size)});
  }
}

}  // namespace

Doubts Engine::doubts() const {
  const CacheState& state = impl_->state;
  Doubts doubts;
  for (const Pool& pool : state.pools) add_pool(doubts, pool, "");
  for (const std::string& note : state.notes) doubts.push_back({Doubt::Kind::component, 1, note});
  add_index(doubts, state, "the index's");
  const HostTier* const host = impl_->tiers.host();
  add_lacked(doubts, state.lacked + (host ? host->state().lacked : 0));
  if (host) add_host(doubts, *host, state);
  if (const StorageTier* const storage = impl_->tiers.storage(); storage && storage->lacked() > 0)
    doubts.push_back({Doubt::Kind::memory, storage->lacked(),
                      fmt::format("{} had not enough memory, {}: records are lost, or it is no longer used",
                                  storage->name(), plural(storage->lacked(), "time"))});
  return doubts;
}

}  // namespace canopy
