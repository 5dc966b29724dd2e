/// Canopy's own names. They contain no ':', which Prometheus reserves for rules that it records itself.
#include <iterator>
#include <utility>

#include "families.h"

namespace canopy::metrics {
namespace {

using inspector::EvictionCause;

std::string text_of(Units reach) { return reach == kWholePath ? "path" : std::to_string(reach); }

/// Adds the known counters of the tiers.
void add_tiers(const Figures& figures, Families& to) {
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    const bool gauge = info.kind == CounterKind::gauge, host = info.tier == "host";
    if (!(host ? figures.host : figures.storage)) return;
    const bool needs_now = gauge || info.unit == CounterUnit::pages;
    if (needs_now && !(figures.now && (host ? figures.now->host : figures.now->storage.has_value()))) return;
    const std::uint64_t value = figures.tiers.at(counter, row, column);
    if (!is_shown(info, value)) return;
    Labels labels = {{"tier", std::string(info.tier)}};
    const auto label = [&](const CounterAxis& axis, std::size_t at) {
      if (axis.label)
        labels.emplace_back(axis.label, axis.names.empty() ? figures.now->pools[at].group : axis.names[at]);
    };
    if (is_by(info.rows, "group") && row >= figures.now->pools.size()) return;
    label(info.rows, row), label(info.columns, column);
    const std::size_t brace = info.metric.find('{'), equals = info.metric.find('=');
    if (brace != info.metric.npos)
      labels.emplace_back(info.metric.substr(brace + 1, equals - brace - 1),
                          info.metric.substr(equals + 1, info.metric.size() - equals - 2));
    double shown = static_cast<double>(value);
    if (info.unit == CounterUnit::us) shown /= 1e6;
    if (info.unit == CounterUnit::pages) shown *= figures.now->page_size;
    const std::string_view name = info.metric.substr(0, brace);
    if (gauge) to.gauge(name, info.help, shown, std::move(labels));
    else to.counter(name, info.help, shown, std::move(labels));
  });
  if (!figures.now || !figures.now->storage) return;
  for (const auto state : {StorageState::closed, StorageState::half_open, StorageState::open})
    to.gauge("canopy_tier_breaker", "1 for the state of the breaker in front of a storage: open, it is not called.",
             std::uint64_t{figures.now->storage->state == state}, {{"tier", "storage"}, {"state", name_of(state)}});
}

void add_tree(const Moment& now, bool no_nodes, Families& to) {
  if (!no_nodes) {
    to.gauge("canopy_tree_nodes", "Nodes in the prefix tree.", now.nodes);
    to.gauge("canopy_tree_depth_tokens", "Depth at which the deepest node ends.", now.depth);
  }
  to.gauge("canopy_namespaces", "Namespaces that were seen; no prefix is shared across two.", now.namespaces);
  to.gauge("canopy_page_size_tokens", "Tokens in a page.", std::uint64_t{now.page_size});
  if (!no_nodes)
    to.gauge("canopy_feed_drift_pages", "Pages by which the reader's sums and the engine's differ; 0, or a bug.",
             now.drift);
  to.gauge("canopy_feed_damaged_events", "Impossible events: another process has written into the feed.", now.damaged);
}

void add_pool_tokens(const PoolFigures& pool, const char* state, std::uint64_t value, Families& to) {
  to.gauge("canopy_pool_tokens", "Tokens of a pool by owner.", value, {{"group", pool.group}, {"state", state}});
}

void add_engine(const Moment& now, bool no_nodes, Families& to) {
  to.gauge("canopy_requests_running", "Requests that have begun and not ended.", now.running);
  to.gauge("canopy_pinned_nodes", "Nodes that a person has pinned.", now.pinned);
  to.gauge("canopy_paused", "1 while a person has paused the engine.", std::uint64_t{now.paused});
  for (const PoolFigures& pool : now.pools) {
    const auto tokens = [&](const char* state, std::uint64_t value) { add_pool_tokens(pool, state, value, to); };
    tokens("free", pool.free);
    tokens("evictable", pool.evictable);
    tokens("protected", pool.protected_);
    tokens("owned", pool.owned);
    to.gauge("canopy_pool_limit_tokens", "Tokens that a pool may have. Absent: no limit.", pool.limit,
             {{"group", pool.group}});
    if (!no_nodes)
      to.gauge("canopy_evictable_nodes",
               "Nodes that can be evicted next: no lock holds them and, where the group needs the whole path, they are "
               "leaves.",
               pool.waiting, {{"group", pool.group}});
    to.gauge("canopy_pool_info", "1; the group's policy and reach as labels.", std::uint64_t{1},
             {{"group", pool.group}, {"policy", pool.policy}, {"reach", text_of(pool.reach)}});
  }
}

void add_share(const ShareFigures& share, Families& to) {
  const Labels labels = {{"tenant", share.label}};
  to.gauge("canopy_tenant_cached_tokens", "Tokens that a tenant with a share of the pool has in the tree.",
           share.cached, labels);
  to.gauge("canopy_tenant_floor_tokens", "Tokens that are not evicted for other tenants.", share.floor, labels);
  to.gauge("canopy_tenant_ceiling_tokens", "Most tokens that a tenant may have. Absent: no ceiling.", share.ceiling,
           labels);
  to.gauge("canopy_tenant_weight", "Weight of a tenant above the floors.", share.weight, labels);
  to.counter(
      "canopy_tenant_evicted_tokens_total",
      "Tokens that left a tenant's share. All of canopy_tenant_*_total are since the engine began, with those of "
      "the engines before it that the exporter saw.",
      share.evicted, labels);
  to.counter("canopy_tenant_paid_tokens_total", "Evicted tokens that left for another tenant.", share.paid, labels);
  to.counter("canopy_tenant_taken_tokens_total", "Tokens that left other tenants for this one.", share.taken, labels);
  to.counter("canopy_tenant_below_floor_tokens_total",
             "Tokens that left a tenant although a floor protected them: nothing else could leave.", share.below_floor,
             labels);
}

/// Adds what left by the causes that events have. `last_commit`: what left then for room may have left for a lower
/// limit.
void add_causes(const std::string& group, const inspector::LeavingCounts& counts, std::uint64_t last_commit,
                Families& to) {
  for (const auto cause : {EvictionCause::room, EvictionCause::limit, EvictionCause::other})
    to.counter(
        "canopy_evicted_tokens_by_cause_total",
        "The tokens of canopy_evicted_tokens_total by cause: room for a request or a caller, a lower limit of the "
        "pool, other (a window moved on). What left in the last operation follows with the next one.",
        counts.of(cause) - (cause == EvictionCause::room ? counts.for_room.of(last_commit) : 0),
        {{"group", group}, {"cause", inspector::kEvictionCauseLabels[static_cast<std::size_t>(cause)]}});
}

void add_leaving(const std::string& group, const inspector::LeavingCounts& counts, bool from_events, Families& to) {
  const Labels labels = {{"group", group}};
  to.counter("canopy_evicted_tokens_total", "Tokens that left a pool, for any cause but a flush.",
             counts.evicted_tokens(), labels);
  to.counter("canopy_flushed_tokens_total", "Tokens that left because the tree was flushed.", counts.flushed_tokens(),
             labels);
  to.histogram("canopy_page_lifetime_seconds",
               "Time from a page's insertion until it left its pool, for any cause but a flush.", counts.lifetime_s,
               labels);
  if (from_events) return;
  to.histogram("canopy_eviction_age_seconds",
               "Time from a page's last use until it left its pool, for any cause but a flush.", counts.idle_s, labels);
  to.histogram("canopy_eviction_age_prompt_tokens",
               "Prompt tokens that arrived from a page's last use until it left its pool, for any cause but a flush.",
               counts.idle_work, labels);
}

void add_requests(const Counts& counts, bool no_nodes, Families& to) {
  to.counter("canopy_requests_ended_total", "Admitted requests that ended.", counts.finished, {{"how", "finished"}});
  to.counter("canopy_requests_ended_total", "", counts.aborted, {{"how", "aborted"}});
  to.counter("canopy_retractions_total", "Times that a running request was retracted for room.", counts.retracted);
  for (const auto& [reason, tokens] : counts.missed_tokens)
    to.counter("canopy_missed_tokens_total", "Tokens of prompts that were not found, by what ended the match.", tokens,
               {{"reason", reason}});
  if (!no_nodes) {
    to.histogram("canopy_reuse_gap_seconds", "Time between two uses of a page of the first group.", counts.reuse_gap_s);
    to.histogram("canopy_reuse_distance_prompt_tokens",
                 "Prompt tokens that arrived between two uses of a page of the first group.", counts.reuse_distance);
  }
  to.histogram("canopy_request_prompt_tokens", "Tokens of the prompts of finished requests.", counts.prompt_tokens);
  to.histogram("canopy_request_computed_tokens", "Prompt tokens of finished requests that were not found.",
               counts.computed_tokens);
}

}  // namespace

void add_canopy(const Figures& figures, Families& to) {
  to.gauge("canopy_feed_up", "1 while the feed exists and its engine is alive.", std::uint64_t{figures.attached});
  to.gauge("canopy_feed_in_step",
           "1 while the exporter knows the whole tree; 0 before the first keyframe and after a loss.",
           std::uint64_t{figures.now.has_value()});
  if (figures.now) add_tree(*figures.now, figures.no_nodes, to);
  if (figures.now && !figures.from_events) add_engine(*figures.now, figures.no_nodes, to);
  if (figures.now && figures.from_events)
    for (const PoolFigures& pool : figures.now->pools) add_pool_tokens(pool, "cached", pool.evictable, to);
  if (!figures.from_events)
    to.gauge("canopy_hit_rate",
             "Share of prompt tokens that were found, of the last 128 requests since the exporter found the engine or "
             "lost events.",
             figures.hit_rate);
  if (!figures.from_events) add_tiers(figures, to);
  if (!figures.counts) return;
  to.counter("canopy_feed_attaches_total", "Times that the exporter found the feed.", figures.counts->attached);
  to.counter("canopy_feed_laps_total", "Times that the engine was faster than the exporter, and events were lost.",
             figures.counts->laps);
  for (const TenantFigures& tenant : figures.tenants) {
    const Labels labels = {{"namespace", tenant.label}};
    if (!figures.no_nodes) to.gauge("canopy_tree_tokens", "Tokens in the tree.", tenant.resident_tokens, labels);
    if (figures.from_events) continue;
    to.counter("canopy_requests_total", "Requests that were admitted.", tenant.requests, labels);
    to.counter("canopy_request_tries_total",
               "Requests that ended before they were admitted, such as those that found no room.", tenant.tries,
               labels);
    to.counter("canopy_prompt_tokens_total", "Tokens of the prompts of requests.", tenant.prompt_tokens, labels);
    to.counter("canopy_hit_tokens_total", "Tokens of prompts that were found in the tree.", tenant.hit_tokens, labels);
  }
  for (const ShareFigures& share : figures.shares) add_share(share, to);
  const Counts& counts = *figures.counts;
  to.counter("canopy_operations_total", "Operations of the engine that the exporter has read.", counts.operations);
  if (!figures.no_nodes) {
    to.counter("canopy_inserted_tokens_total", "Tokens that entered the tree.", counts.inserted_tokens);
    for (const auto& [group, leaving] : counts.leaving) add_leaving(group, leaving, figures.from_events, to);
    for (const auto& [group, leaving] : counts.leaving)
      if (!figures.from_events) add_causes(group, leaving, counts.last_commit, to);
  }
  if (!figures.from_events) add_requests(counts, figures.no_nodes, to);
}

}  // namespace canopy::metrics
