#pragma once

#include <canopy/agreement.h>
#include <canopy/engine/engine_config.h>
#include <canopy/engine/fetch.h>
#include <canopy/engine/request.h>
#include <canopy/engine/request_spec.h>
#include <canopy/engine/state.h>
#include <canopy/feed/sink.h>
#include <canopy/loading/registry.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

class TurnBoard;

/// The one caller of all components: index, allocators, stores and policies, composed into one prefix cache. A
/// request's life:
///
///   begin    match and lock the longest resident prefix
///   reserve  pages for what is to be computed; evicts exactly what is missing
///   write    rows of computed tokens (or the model's own kernels write, at the same page numbers)
///   advance  so much is computed: windows give back what no later token can see
///   commit   what is computed so far becomes reusable by others, while the request goes on
///   finish   all of it does; or abort at any step, which leaves nothing but the prefixes already committed;
///            or retract, to resume later
///
/// After every operation the ledger is checked, and the digest takes in what happened.
///
/// One thread: one call at a time, of the engine and of its requests. A call that breaks a REQUIRES, or that comes
/// while another one runs, does nothing: it returns false, 0 or an empty result, and the ledger has a violation with a
/// sentence. A plugin may not call the engine that calls it.
class Engine {
 public:
  /// `listener`: hears of the tree (EngineConfig::events); null: the configuration may name no events.
  /// `agreement`: with the engines of the other ranks, which get the same calls (docs/tiers.md, Ranks); null: there is
  /// one rank. REQUIRES: `registry`, `listener` and `agreement` outlive the engine.
  static Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Registry& registry,
                                                TreeListener* listener = nullptr, Agreement* agreement = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  NamespaceId intern(const Space& space);
  const std::string& name_of(NamespaceId space) const { return state().spaces.name_of(space); }

  /// Changes nothing, not even recency, however often it is asked.
  Admission admits(const RequestSpec& spec) const;
  /// A request with the longest resident prefix under lock. It has ended already if the ledger says that no request can
  /// be like this. `fetched`: what fetch() gave for it, which is given back here. REQUIRES: the request ends before the
  /// engine does; intern() gave its namespace.
  Request begin(const RequestSpec& spec, Fetch fetched = {});

  /// Where the longest resident prefix of a request that waits ends: begin would find as much now. Nothing is held; the
  /// prefix becomes recent, so that it stays for the request. For a scheduler that orders requests by their prefixes.
  Found find(const RequestSpec& spec);
  /// IndexUpkeep::order_by_weight of such places. REQUIRES: order.size() == ends.size().
  void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const;

  /// With a tier below the pools: looks up what it has of a request that waits, and begins to bring what the pools
  /// lack. Begin the request when it is done(), or earlier with what is there then. Cheap to ask for every request that
  /// waits: a prefix that is on its way already is not brought twice. Without a tier nothing comes. What takes longer
  /// than computing it does not come, if `tiers.recompute` says what that takes.
  Fetch fetch(const RequestSpec& spec);
  /// Microseconds that computing `tokens` of a prompt behind `depth` others takes, by `tiers.recompute`; 0: not known.
  std::uint64_t recompute_us(std::uint32_t tokens, std::uint32_t depth) const;
  /// A prefill has computed `tokens` behind `depth` others in so many microseconds. It corrects what recompute_us()
  /// tells, and so what is fetched, if `tiers.recompute.learn` says so. REQUIRES: all ranks are told the same.
  void computed(std::uint32_t tokens, std::uint32_t depth, std::uint64_t us);
  /// What has ended by now becomes visible, in the order in which it began: copies to the tier below and fetches.
  /// Nothing else makes it so. Call it once before each step of the scheduler. `now_us` is a time of the caller's own:
  /// a smaller one than before counts as that. With an agreement it asks the other ranks, once in each turn: what has
  /// ended on all of them becomes visible, at the smallest of their times. If they differ, the ledger has a violation,
  /// and nothing moves between the tiers from then on.
  void turn(std::uint64_t now_us);
  /// When the next copy, fetch or call of the storage ends, in the time of turn(); kUnlimited: none is on its way.
  /// While in_real_time(), at the latest when to ask again.
  std::uint64_t next_end_us() const;
  /// Calls are on their way whose end the storage alone knows: let as much time pass as turn() is told.
  bool in_real_time() const;
  /// The tier below the pools, to read; null: there is none.
  const EngineState* host_tier() const { return state().below; }
  const TierFigures& tier_figures() const { return state().moved; }
  /// Whether there is a storage below that tier.
  bool has_storage() const;
  const StorageFigures& storage_figures() const { return state().stored; }

  Units page_size() const { return state().page_size; }
  /// How many of a prompt's tokens can be reused at all: whole pages of units.
  std::uint32_t whole_pages(std::size_t tokens) const { return state().whole_pages(tokens); }
  std::size_t groups() const { return state().pools.size(); }
  /// Throws std::out_of_range if there is no such group.
  Pool& pool(std::size_t group);
  const Pool& pool(std::size_t group) const;
  const PrefixIndex& index() const { return *state().index; }
  KVStore* store(std::size_t group) const { return pool(group).store(); }
  const Counters& counters() const { return state().counters; }
  const Ledger& ledger() const { return state().ledger; }
  std::size_t live_requests() const { return state().live.size(); }
  std::size_t spaces() const { return state().spaces.size(); }
  /// Everything the engine keeps, to read.
  const EngineState& state() const;

  /// Another policy for a group from now on; nodes that wait to be evicted are ranked anew. REQUIRES: not null.
  void use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name = "a policy");
  /// Evicts until `pages` pages of a group are free, or nothing more may be evicted. Whether they are.
  bool make_free(std::size_t group, std::uint64_t pages);
  /// Evicts all of a namespace that is not locked. Returns tokens freed in the first group.
  std::uint64_t flush(NamespaceId space);
  /// Sets the pool's limit. REQUIRES: at least 1 page. A higher limit lets the pool grow on demand. A lower one evicts
  /// down to it, relocates unlocked pages out of the draining segments, and waits for requests that own or lock the
  /// rest. Until then the pool is over its limit and hands out nothing.
  void resize(std::size_t group, std::uint64_t pages);
  std::vector<Blocker> blockers(std::size_t group) const;

  /// Protects a node and its path like a request's lock until unpin(). Pinned pages cannot be evicted or flushed; a
  /// request that needs their room waits indefinitely. A pin counts as a use of the path and advances the clock, and
  /// holds of each group what a request would that goes on from the node. False, and nothing has changed, if there is
  /// no such node, it is pinned, or no request could go on from it.
  bool pin(NodeId node);
  /// False if it is not pinned. The id is the one that was pinned, wherever splits have put its start since.
  bool unpin(NodeId node);

  /// Does what was asked at an inspector, if the feed takes controls, and serves readers that attached while nothing
  /// happened. False while the engine is paused: sleep a little and ask again. Call it between operations.
  bool poll();
  /// The feed of this process, for a reader in it; null if there is none.
  FeedSink* feed();

  /// Proves that every page has one owner and every row names the pages that its lock holds: O(pool). What is wrong
  /// goes to the ledger.
  void audit();
  /// Results, victims and counters so far: the same for the same input on any compiler.
  std::uint64_t digest() const;

 private:
  struct Parts;
  explicit Engine(std::unique_ptr<Parts> parts);
  template <class Serve>
  auto serve(const char* call, Serve&& serve) const;
  template <class Serve>
  auto serve(const char* call, std::size_t group, Serve&& serve) const;
  const TurnBoard* agree(std::uint64_t& now_us);
  void misused(std::string sentence) const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace canopy
