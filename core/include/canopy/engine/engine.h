#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/registry.h>
#include <canopy/engine/agreement.h>
#include <canopy/engine/counters.h>
#include <canopy/engine/engine_config.h>
#include <canopy/engine/fetch.h>
#include <canopy/engine/index_view.h>
#include <canopy/engine/ledger.h>
#include <canopy/engine/pool_view.h>
#include <canopy/engine/request.h>
#include <canopy/engine/request_spec.h>
#include <canopy/engine/tenants.h>
#include <canopy/engine/tiers.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace canopy {

class FeedSink;
struct CacheState;

/// Composes index, allocators, stores and policies into one prefix cache, and is their only caller. The life of a
/// request:
///
///   begin    matches and locks the longest resident prefix
///   reserve  gets pages for what is to be computed; evicts exactly what is missing
///   write    stores rows of computed tokens (or the model's own kernels write, at the same page numbers)
///   advance  marks tokens as computed; windows release pages that no later token can see
///   commit   makes the computed tokens reusable by others, while the request continues
///   finish   commits the rest and ends the request; or abort() at any step, which leaves only the committed
///            prefixes; or retract(), to resume later
///
/// After every operation the engine checks the ledger and adds the operation to the digest.
///
/// Thread: one call at a time, of the engine and of its requests. A call that breaks a REQUIRES, or that arrives during
/// another call, does nothing: it returns false, 0 or an empty result, and the ledger records a violation. A plugin may
/// not call the engine that calls it.
///
/// Memory: a call for which the system has none does less, which doubts() reports, or throws std::bad_alloc. Either way
/// every page still has one owner.
class Engine {
 public:
  /// Creates an engine. `listener` receives the tree's changes (EngineConfig::events). May be null (the configuration
  /// names no events). `agreement` connects the engines of the other ranks, which get the same calls (docs/tiers.md,
  /// Ranks). May be null (one rank). REQUIRES: `registry`, `listener` and `agreement` outlive the engine.
  static Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Registry& registry,
                                                TreeListener* listener = nullptr, Agreement* agreement = nullptr);
  /// Creates an engine from its file, and keeps the plugins loaded. `plugins` is their folder; each file in it is
  /// checked (Trust::strict). Empty: own_plugin_folder().
  static Result<std::unique_ptr<Engine>> open(const std::string& path, const std::filesystem::path& plugins = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  NamespaceId intern(const Space& space);
  const std::string& name_of(NamespaceId space) const;

  /// Returns whether a request can run now, must wait, or can never run. Changes nothing, not even recency.
  Admission admits(const RequestSpec& spec) const;
  /// Begins a request and locks its longest resident prefix. If `spec` is invalid, returns a request that has already
  /// ended and records a violation. `fetched`: the result of Tiers::fetch for it. REQUIRES: the request ends before the
  /// engine is destroyed; intern() returned its namespace.
  Request begin(const RequestSpec& spec, Fetch fetched = {});

  /// Returns the length and the last node of a waiting request's longest resident prefix: what begin() would match now.
  /// Locks nothing, but makes the prefix recent so that it stays for the request. For schedulers that order requests by
  /// their prefixes.
  Found find(const RequestSpec& spec);
  /// Calls find() for each of many waiting requests, in their order. The index prefetches for 16 of them at a time, so
  /// they wait for memory together. REQUIRES: found.size() == specs.size().
  void find_many(std::span<const RequestSpec> specs, std::span<Found> found);
  /// Calls SchedulingIndex::order_by_weight for results of find(). REQUIRES: order.size() == ends.size().
  void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const;

  /// Advances the engine's time. Call it once before each step of the scheduler. `now_us` is the caller's own clock, in
  /// microseconds; a value below the last one counts as the last one. Copies to the tiers below and fetches that have
  /// completed by then become visible, in start order, and only here. With an agreement, each call does one exchange
  /// with the other ranks: only work that has completed on all of them becomes visible, at the smallest of their times.
  /// If the ranks differ, the ledger records a violation, and nothing moves between the tiers from then on.
  void turn(std::uint64_t now_us);
  /// Returns the tiers below the pools. They exist in every engine, and do nothing if none is configured.
  Tiers& tiers();
  const Tiers& tiers() const;

  Units page_size() const;
  /// Returns the number of prompt tokens that can be reused at all: whole pages of units.
  std::uint32_t whole_pages(std::size_t tokens) const;
  std::size_t groups() const;
  /// Returns a group's pool, for reading. Throws std::out_of_range if there is no such group.
  PoolView pool(std::size_t group) const;
  /// Returns the index, for reading.
  IndexView index() const;
  /// Returns a group's store itself. Its exceptions reach the caller. May be null (page numbers only). Throws
  /// std::out_of_range if there is no such group.
  KVStore* store(std::size_t group) const;
  /// Calls KVStore::sync, if the group has a store. An error starts with the store's name. REQUIRES: the group exists.
  Result<std::monostate> sync(std::size_t group);
  const Counters& counters() const;
  const Ledger& ledger() const;
  /// Returns true while a call of the engine runs, in any thread or around a plugin: another one would be refused.
  bool is_running() const;
  std::size_t live_requests() const;
  std::size_t spaces() const;
  /// Returns the name of a group's policy. It differs from the configured one if that threw. REQUIRES: the group
  /// exists.
  const std::string& policy(std::size_t group) const;
  /// Returns the words of a group's policy for its rule and its ranks. REQUIRES: the group exists.
  PolicyText policy_text(std::size_t group) const;
  /// Returns the pages of a group that requests own. REQUIRES: the group exists.
  std::uint64_t owned_pages(std::size_t group) const;
  /// Returns the reasons why figures of this engine are not those of the configured one: memory that the system refused
  /// to a pool, an index or the host tier, and components that failed. They stay. Empty: there are none.
  Doubts doubts() const;

  /// Replaces a group's policy, and ranks again the nodes that wait for eviction. Returns an error that begins with the
  /// name, and changes nothing, if the index cannot evict in its order, or if the call broke a rule. REQUIRES: `policy`
  /// is not null; the group exists.
  Result<std::monostate> use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy,
                                    std::string_view name = "a policy");
  /// Evicts until `pages` pages of a group are free, or nothing more may be evicted. Returns true if they are free.
  bool make_free(std::size_t group, std::uint64_t pages);
  /// Ends all retention in a namespace, and evicts everything in it that is not locked, here and in the tiers below.
  /// What a fetch or a put of a tier reads at this moment is not found again, and leaves when the reading ends. Returns
  /// the tokens freed in the first group.
  std::uint64_t flush(NamespaceId space);
  /// Sets the pool's limit. A higher limit lets the pool grow on demand. A lower one evicts down to it, relocates
  /// unlocked pages out of the draining segments, and waits for requests that own or lock the rest. Until then the pool
  /// is over its limit and hands out only pages of segments that stay. More pages than 64 bits can count tokens of mean
  /// no limit. REQUIRES: at least 1 page.
  void resize(std::size_t group, std::uint64_t pages);
  std::vector<Blocker> blockers(std::size_t group) const;

  /// Gives a tenant another share in the pools and in the host tier, or one of its own. What it has above a new ceiling
  /// leaves at its next operation. Returns an error, and changes nothing, if the floors then exceed the first group's
  /// pool or the pool for which the host tier was configured, or if the engine was configured without `tenants`.
  /// REQUIRES: `tenant` is not empty and not "*".
  Result<std::monostate> set_share(std::string_view tenant, const TenantShare& share);
  /// Return what became of each tenant's share in the pools, and which tenant paid for which. Empty without `tenants`.
  std::vector<TenantUse> tenants() const;
  std::vector<TenantPayment> payments() const;

  /// Protects a node and its path like a request's lock until unpin(). Pinned pages cannot be evicted or flushed; a
  /// request that needs their room waits indefinitely. A pin counts as a use of the path and advances the clock. In
  /// each group it locks what a request that continues from the node would lock. Returns false, and changes nothing, if
  /// there is no such node, it is pinned, or no request could continue from it.
  bool pin(NodeId node);
  /// Returns false if `node` is not pinned. `node` is the id that was pinned, even if splits have moved its start
  /// since.
  bool unpin(NodeId node);

  /// Executes commands from an inspector, if the feed takes controls, and serves readers that attached between
  /// operations. Returns false while the engine is paused: sleep briefly and call again. Call it between operations.
  bool poll();
  /// Returns the feed, for a reader in this process. May be null (no feed).
  FeedSink* feed();

  /// Proves that every page has one owner and every row names the pages that its lock holds: O(pool). Records what is
  /// wrong in the ledger.
  void audit();
  /// Returns a hash of results, victims and counters so far. It is the same for the same input on any compiler.
  std::uint64_t digest() const;

 private:
  friend const CacheState& state_of(const Engine& engine);
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  template <class Call>
  auto guarded(const char* name, Call&& call) const;
  template <class Call>
  auto guarded(const char* name, std::size_t group, Call&& call) const;
  void misused(std::string_view sentence) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy
