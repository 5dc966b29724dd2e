/// The names and meanings of vLLM 0.33 (v1/metrics/loggers.py; sources: v1/metrics/stats.py and cache_hit_source.py).
/// Tiers below the pools are what an external KV transfer is there; a storage may be anywhere. Leaves out what a feed
/// does not report: waiting requests, queries of external caches, and caches of images. kv_block_* cover all blocks of
/// the first group, where vLLM samples. A gap is observed at the use that ends it, where vLLM waits for the eviction.
#include "families.h"

namespace canopy::metrics {
namespace {

void add_pool(const Moment& now, Families& to) {
  const PoolFigures& pool = now.pools.front();
  to.gauge("vllm:num_requests_running", "Requests that have begun and not ended.", now.running);
  to.gauge("vllm:kv_cache_usage_perc", "Share of the first group's blocks that running requests use, 0 to 1.",
           pool.total() == 0 ? 0.0 : static_cast<double>(pool.used()) / static_cast<double>(pool.total()));
  to.gauge("vllm:cache_config_info", "1; the cache's configuration as labels.", std::uint64_t{1},
           {{"block_size", std::to_string(now.page_size)},
            {"num_gpu_blocks", std::to_string(now.page_size ? pool.total() / now.page_size : 0)}});
}

void add_requests(const Figures& figures, Families& to) {
  const Counts& counts = *figures.counts;
  std::uint64_t prompt = 0, hit = 0;
  for (const TenantFigures& tenant : figures.tenants) prompt += tenant.prompt_tokens, hit += tenant.hit_tokens;
  to.counter("vllm:prefix_cache_queries_total", "Tokens of prompts that were looked for.", prompt);
  const std::uint64_t in_pools = counts.pool_hit_tokens, on_host = figures.tiers[Counter::hit_tokens_host],
                      stored = figures.tiers[Counter::hit_tokens_storage];
  to.counter("vllm:prefix_cache_hits_total", "Tokens of prompts that were found in the pools.", in_pools);
  to.counter("vllm:prompt_tokens_total", "Tokens of the prompts of requests, counted when they are admitted.", prompt);
  to.counter("vllm:prompt_tokens_cached_total", "Tokens of prompts that were found.", hit);
  to.counter("vllm:prompt_tokens_by_source_total", "Tokens of prompts by where their KV comes from.", prompt - hit,
             {{"source", "local_compute"}});
  to.counter("vllm:prompt_tokens_by_source_total", "", in_pools, {{"source", "local_cache_hit"}});
  if (figures.host)
    to.counter("vllm:prompt_tokens_by_source_total", "", on_host + stored, {{"source", "external_kv_transfer"}});
  const char* const by_tier = "Tokens of prompts that were found, by tier: what no fetch had brought is the device's.";
  to.counter("vllm:prompt_tokens_cached_by_source_total", by_tier, in_pools, {{"source", "device"}});
  if (figures.host) to.counter("vllm:prompt_tokens_cached_by_source_total", "", on_host, {{"source", "host"}});
  if (figures.storage)
    to.counter("vllm:prompt_tokens_cached_by_source_total", "", stored, {{"source", "external_unspecified"}});
  to.counter("vllm:num_preemptions_total", "Times that a running request was retracted for room.", counts.retracted);
  to.histogram("vllm:request_prefill_kv_computed_tokens", "Prompt tokens of finished requests that were not found.",
               counts.computed_tokens);
  if (!figures.no_nodes)
    to.histogram("vllm:kv_block_reuse_gap_seconds", "Time between two uses of a block.", counts.reuse_gap_s);
}

}  // namespace

void add_vllm(const Figures& figures, Families& to) {
  const bool has_pools = figures.now && !figures.now->pools.empty();
  if (has_pools && !figures.from_events) add_pool(*figures.now, to);
  if (!figures.counts) return;
  if (!figures.from_events) add_requests(figures, to);
  if (!has_pools || figures.no_nodes) return;
  const auto leaving = figures.counts->leaving.find(figures.now->pools.front().group);
  if (leaving == figures.counts->leaving.end()) return;
  to.histogram("vllm:kv_block_lifetime_seconds",
               "Time from a block's insertion until it left the pool, for any cause but a flush.",
               leaving->second.lifetime_s);
  if (figures.from_events) return;
  to.histogram("vllm:kv_block_idle_before_evict_seconds",
               "Time from a block's last use until it left the pool, for any cause but a flush.",
               leaving->second.idle_s);
}

}  // namespace canopy::metrics
