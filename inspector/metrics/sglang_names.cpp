/// The names and meanings of SGLang 0.5.23 (srt/observability/metrics_collector.py; the sums of pools:
/// scheduler_components/pool_stats_observer.py). Leaves out what a feed does not report: waiting requests, bytes of
/// pools, durations, and whether an answer is streamed.
#include <algorithm>

#include "families.h"

namespace canopy::metrics {
namespace {

double usage(const PoolFigures& pool) {
  return pool.total() == 0 ? 0 : static_cast<double>(pool.used()) / static_cast<double>(pool.total());
}

/// Returns the first pool of a kind; null if the engine has none.
template <class Kind>
const PoolFigures* first(const Moment& now, Kind&& kind) {
  const auto at = std::find_if(now.pools.begin(), now.pools.end(), kind);
  return at == now.pools.end() ? nullptr : &*at;
}

void add_pools(const Moment& now, Families& to) {
  const PoolFigures* full = first(now, [](const PoolFigures& pool) { return pool.reach == kWholePath; });
  const PoolFigures* state = first(now, [](const PoolFigures& pool) { return pool.reach == 1; });
  const PoolFigures* window =
      first(now, [](const PoolFigures& pool) { return pool.reach != kWholePath && pool.reach > 1; });
  double most = 0;
  for (const PoolFigures* pool : {full, window, state})
    if (pool) most = std::max(most, usage(*pool));
  to.gauge("sglang:token_usage", "Share of the fullest pool that running requests use.", most);
  if (full) {
    to.gauge("sglang:full_token_usage", "Share of the pool of full attention that running requests use.", usage(*full));
    to.gauge("sglang:num_used_tokens", "Tokens that running requests use.",
             std::max(full->used(), window ? window->used() : 0));
    to.gauge("sglang:kv_available_tokens", "Free tokens of the pool of full attention.", full->free);
    to.gauge("sglang:kv_evictable_tokens", "Evictable tokens of the pool of full attention.", full->evictable);
    to.gauge("sglang:kv_used_tokens", "Tokens of the pool of full attention that running requests use.", full->used());
  }
  if (window) {
    to.gauge("sglang:swa_token_usage", "Share of the pool of the windows that running requests use.", usage(*window));
    to.gauge("sglang:swa_available_tokens", "Free tokens of the pool of the windows.", window->free);
    to.gauge("sglang:swa_evictable_tokens", "Evictable tokens of the pool of the windows.", window->evictable);
    to.gauge("sglang:swa_used_tokens", "Tokens of the pool of the windows that running requests use.", window->used());
  }
  if (state) {
    // A state takes one page.
    const std::uint64_t page = std::max<Units>(now.page_size, 1);
    to.gauge("sglang:mamba_usage", "Share of the pool of states that running requests use.", usage(*state));
    to.gauge("sglang:mamba_available_tokens", "Free states.", state->free / page);
    to.gauge("sglang:mamba_evictable_tokens", "Evictable states.", state->evictable / page);
    to.gauge("sglang:mamba_used_tokens", "States that running requests use.", state->used() / page);
  }
}

/// Adds HiCache's figures for the host tier. Its counters of tokens are only those of the pool "kv": other groups are
/// not distinguished.
void add_host(const CounterValues& tiers, Families& to) {
  const Labels kv = {{"pool", "kv"}};
  to.counter("sglang:load_back_tokens_total", "Tokens that were copied from the host.",
             tiers[Counter::loaded_tokens_host], kv);
  to.counter("sglang:load_back_bytes_total", "Bytes that were copied from the host, of all pools.",
             tiers[Counter::loaded_bytes_host]);
  to.counter("sglang:hicache_backup_tokens_total", "Tokens that were copied to the host.",
             tiers[Counter::written_tokens_host], kv);
  to.counter("sglang:hicache_backup_bytes_total", "Bytes that were copied to the host, of all pools.",
             tiers[Counter::written_bytes_host]);
  to.counter("sglang:hicache_dropped_tokens_total", "Tokens that left the pools and were not copied.",
             tiers[Counter::dropped_tokens_host], {{"reason", "host_pressure"}, {"pool", "kv"}});
}

/// Adds HiCache's figures for its storage. What its buffers reject corresponds to tokens that were evicted from the
/// host before they were put.
void add_storage_of_sglang(const CounterValues& tiers, Families& to) {
  to.counter("sglang:prefetched_tokens_total", "Tokens that came from the storage to the host.",
             tiers[Counter::loaded_tokens_storage]);
  to.counter("sglang:backuped_tokens_total", "Tokens that were put into the storage, or were there.",
             tiers[Counter::written_tokens_storage]);
  to.counter("sglang:hicache_backup_dropped_tokens_total", "Tokens that left the host and were not put.",
             tiers[Counter::dropped_tokens_storage]);
}

}  // namespace

void add_sglang(const Figures& figures, Families& to) {
  if (!figures.from_events)
    to.gauge("sglang:cache_hit_rate", "Share of prompt tokens that were found, of the last 128 requests.",
             figures.hit_rate);
  if (figures.now && !figures.from_events) {
    to.gauge("sglang:num_running_reqs", "Requests that have begun and not ended.", figures.now->running);
    add_pools(*figures.now, to);
    if (figures.now->host) {
      const std::uint64_t page = figures.now->page_size;
      to.gauge("sglang:hicache_host_used_tokens", "Tokens that are on the host or on their way.",
               (figures.tiers[Counter::resident_pages_host] + figures.tiers[Counter::moving_pages_host]) * page);
      to.gauge("sglang:hicache_host_total_tokens", "Tokens that the host may have.",
               figures.tiers[Counter::limit_pages_host] * page);
    }
  }
  if (!figures.counts) return;
  std::uint64_t evicted = 0;
  for (const auto& [group, leaving] : figures.counts->leaving) evicted += leaving.evicted_tokens();
  if (!figures.no_nodes)
    to.counter("sglang:evicted_tokens_total", "Tokens that left the pools, for any cause but a flush.", evicted);
  if (figures.from_events) return;
  std::uint64_t prompt = 0;
  for (const TenantFigures& tenant : figures.tenants) prompt += tenant.prompt_tokens;
  to.counter("sglang:prompt_tokens_total", "Tokens of the prompts of requests, counted when they are admitted.",
             prompt);
  to.counter("sglang:cached_tokens_total", "Tokens of prompts that were found, counted when requests are admitted.",
             figures.counts->pool_hit_tokens, {{"cache_source", "device"}});
  if (figures.host) {
    to.counter("sglang:cached_tokens_total", "", figures.tiers[Counter::hit_tokens_host], {{"cache_source", "host"}});
    add_host(figures.tiers, to);
  }
  if (figures.storage) {
    to.counter("sglang:cached_tokens_total", "", figures.tiers[Counter::hit_tokens_storage],
               {{"cache_source", "storage"}});
    add_storage_of_sglang(figures.tiers, to);
  }
  to.histogram("sglang:prompt_tokens_histogram", "Tokens of the prompts of finished requests.",
               figures.counts->prompt_tokens);
  to.histogram("sglang:uncached_prompt_tokens_histogram", "Prompt tokens of finished requests that were not found.",
               figures.counts->computed_tokens);
}

}  // namespace canopy::metrics
