#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/ledger.h>
#include <canopy/engine/pool.h>
#include <canopy/engine/request.h>
#include <canopy/engine/stop_condition.h>
#include <canopy/feed/sink.h>
#include <canopy/key_codec.h>
#include <canopy/loading/registry.h>
#include <canopy/prefix_index.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy {

/// Who may share a prefix: requests with the same tuple, and nobody else.
struct Space {
  std::string_view tenant, adapter, salt;
};

/// What an engine wants to know of a request before it runs.
struct Arrival {
  std::span<const Token> prompt;
  NamespaceId space = NamespaceId::shared;
  std::int32_t priority = 0;
  std::uint64_t hints = 0;         ///< for policies, passed through
  std::uint32_t output_limit = 0;  ///< tokens it may add at most
  /// Prompt tokens that must be left to compute even if everything is resident: a model needs one to go on from.
  std::uint32_t leave = 1;
  std::uint32_t chunk = 0;  ///< tokens of the prompt computed at a time at most; 0: all at once
};

/// Whether a request can run.
struct Admission {
  enum class Verdict { now, wait, never };
  Verdict verdict = Verdict::now;
  std::string reason;  ///< a sentence, unless it is `now`
};

/// Counted since the engine was made. Tokens unless they say otherwise.
struct Counters {
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t evict_calls = 0, evicted_tokens = 0;  ///< of the first group
  std::uint64_t finished = 0, aborted = 0, retracted = 0;
  std::uint64_t repointed_pages = 0;           ///< pages of a request that another request had inserted first
  std::uint64_t resizes = 0, moved_pages = 0;  ///< new limits of pools; pages that got other numbers for them
  double index_seconds = 0;                    ///< inside match, pages, insert, release and evict
};

/// The one caller of all components, and the only code that sees them all. A request's life:
///
///   begin    match and lock the longest resident prefix
///   reserve  pages for what is to be computed; evicts exactly what is missing
///   write    rows of computed tokens (or the model's own kernels write, at the same page numbers)
///   advance  so much is computed: windows let go what no later token can see
///   commit   what is computed so far becomes reusable by others, while the request goes on
///   finish   all of it does; or abort at any step, which leaves no trace but the prefixes already committed;
///            or retract, to resume later
///
/// After every operation the ledger is checked, and the digest takes in what happened. One thread.
class Engine {
 public:
  /// REQUIRES: `registry` outlives the engine.
  static Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Registry& registry);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  NamespaceId intern(const Space& space);
  /// "tenant/adapter/salt" without what is empty, for people; a salt shows as "*".
  const std::string& name_of(NamespaceId space) const { return space_names_[static_cast<std::size_t>(space)]; }

  /// Changes nothing, not even recency, however often it is asked.
  Admission admits(const Arrival& arrival) const;
  /// A request with the longest resident prefix under lock. It must end before the engine does.
  Request begin(const Arrival& arrival);

  Units page_size() const { return page_size_; }
  /// How many of a prompt's tokens can be reused at all: whole pages of units.
  std::uint32_t whole_pages(std::size_t tokens) const { return units(tokens) / page_size_ * page_size_; }
  std::size_t groups() const { return pools_.size(); }
  Pool& pool(std::size_t group) { return pools_[group]; }
  const Pool& pool(std::size_t group) const { return pools_[group]; }
  const PrefixIndex& index() const { return *index_; }
  KVStore* store(std::size_t group) { return pools_[group].store(); }
  const Counters& counters() const { return counters_; }
  const Ledger& ledger() const { return ledger_; }
  std::size_t live_requests() const { return live_.size(); }
  std::size_t spaces() const { return spaces_.size(); }

  /// Another policy for a group from now on; those who wait to leave are ranked anew.
  void use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name = "a policy");
  /// Evicts until `pages` pages of a group are free, or nothing more may leave. Whether they are.
  bool make_free(std::size_t group, std::uint64_t pages);
  /// All of a namespace that no request holds. Returns tokens freed in the first group.
  std::uint64_t flush(NamespaceId space);
  /// A group's pool may hold so many pages from now on, at least 1. More: it grows when it needs to. Less: what is
  /// too much is evicted, what lies in segments that go is moved, at once as far as no request holds it; the rest
  /// as requests end. Until then the pool is over its limit and hands out nothing.
  void resize(std::size_t group, std::uint64_t pages);
  /// Who keeps pages that a pool waits for: a request, or (0) a pinned node.
  struct Blocker {
    std::uint64_t request = 0;
    NodeId pinned{};
    std::uint64_t pages = 0;
  };
  std::vector<Blocker> blockers(std::size_t group);

  /// Keeps a node and its path until it is unpinned or the engine ends, as if a request held it: it is protected,
  /// neither evicted nor flushed, and no room for requests, which may wait for it for ever. The lock comes of a match
  /// of the node's own words, so it counts as a hit of the path, takes a tick and holds what a request could reuse:
  /// less than the node where a group has a gap. O(tree), for a person: an index finds paths by words, not by id.
  /// False, and nothing has changed, if there is no such node, it is pinned, or nothing of it can be reused.
  bool pin(NodeId node);
  /// False if it is not pinned. The id is the one that was pinned, wherever splits have put its start since.
  bool unpin(NodeId node);

  /// Does what was asked at an inspector, if the feed takes controls, and serves readers who came while nothing
  /// happened. False while the engine is paused: sleep a little and ask again. Call it between operations.
  bool poll();
  /// The feed of this process, for a reader in it; null if there is none.
  FeedSink* feed() { return sink_.get(); }

  /// Proves that every page has one owner and every row names the pages that its lock holds: O(pool). What is wrong
  /// goes to the ledger.
  void audit();
  /// Results, victims and counters so far: the same for the same input on any compiler.
  std::uint64_t digest() const;

 private:
  friend class Request;
  struct WordScratch;
  struct Digest;
  class IndexTimer;

  Engine();
  std::span<const std::uint32_t> encode(std::span<const Token> tokens) const;
  Units units(std::size_t tokens) const { return static_cast<Units>(tokens > overlap_ ? tokens - overlap_ : 0); }
  RequestFacts facts_of(const Request::State& request, std::span<const Token> prompt);
  void match(Request::State& request);
  std::uint64_t room(std::size_t group) const;
  bool may_be_free(std::size_t group, std::uint64_t pages);
  std::size_t evict(std::size_t group, std::uint64_t pages);
  void drain(std::size_t group);
  std::size_t move_out(std::size_t group);
  std::uint64_t leaving_under(const Lock& lock, std::size_t group);
  std::uint64_t leaving_under(const Request::State& request, std::size_t group);
  template <class Holder>
  void note_leaving(const Holder& gone);
  void go_on_draining();
  bool extend(Request::State& request, std::size_t group, std::size_t length);
  void let_go_before(Request::State& request, std::size_t group, std::size_t page);
  void free(std::size_t group, std::span<const Page> pages, const char* who);
  void free(const GroupPages& pages, const char* who);
  void free_own(Request::State& request, std::size_t group, std::size_t first, std::size_t end, const char* who);
  void settle(Operation after);

  // Telling the feed, where there is one: engine_feed.cpp.
  Result<std::monostate> open_feed(const EngineConfig& config, const Registry& registry);
  bool told() const { return feed_ && feed_->on(); }
  void tell_text(TextKind kind, std::size_t index, std::string_view text);
  void tell_texts();
  void tell_all();
  void tell_begun(const Request::State& request);
  void tell_new_pages(const Request::State& request, std::size_t group, std::size_t place);
  void tell_own_pages(const Request::State& request, std::size_t group, std::size_t from);
  void tell_moved(const Request::State& request, RequestPhase phase);
  void tell_freed(std::size_t group, std::span<const Page> pages);
  void tell_totals();
  void tell_commit(Operation operation);
  void turn_feed(Operation operation);
  void obey(const Command& command);

  // What a person asks for beyond that: engine_controls.cpp.
  void pause(std::string because);
  void go_on();
  void run_until(const Command& command);
  void stop_if_met();
  void tell_pins();

  Units page_size_ = 1, overlap_ = 0;
  std::shared_ptr<KeyCodec> codec_;
  std::vector<Pool> pools_;
  std::shared_ptr<PrefixIndex> index_;
  std::unordered_map<std::string, NamespaceId> spaces_;
  std::vector<std::string> space_names_;
  std::vector<Request::State*> live_;
  std::vector<std::unique_ptr<Request::State>> idle_;  ///< ended requests, for their storage
  std::vector<std::uint64_t> prints_;
  std::vector<Page> scratch_pages_;
  std::array<std::uint64_t, kMaxGroups> held_{};  ///< pages of requests' own, from their rows
  bool prints_wanted_ = false, insert_at_finish_ = true;
  std::array<bool, kMaxGroups> loose_{};                        ///< something may have come loose that a pool waits for
  std::array<std::uint32_t, kMaxGroups> patience_{}, waits_{};  ///< operations before it is looked for
  std::uint64_t next_request_ = 1;
  Counters counters_;
  Ledger ledger_;

  const Registry* registry_ = nullptr;
  std::unique_ptr<FeedSink> sink_;
  FeedWriter* feed_ = nullptr;  ///< null: off
  std::string config_text_;
  std::vector<std::string> policy_names_, plugin_texts_, refusal_texts_;
  std::array<std::uint64_t, kMaxGroups> told_capacity_{}, told_limit_{}, told_changes_{};
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::uint64_t elapsed_us_ = 0;  ///< when an index was last called, since began_
  std::uint64_t operations_ = 0, keyframes_told_ = 0, told_operations_ = 0, commands_done_ = 0, steps_left_ = 0;
  bool paused_ = false;
  std::string paused_because_;
  StopCondition stop_;
  std::unordered_map<NodeId, Lock> pins_;

  std::unique_ptr<WordScratch> scratch_;
  std::unique_ptr<Digest> digest_;
};

}  // namespace canopy
