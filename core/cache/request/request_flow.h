#pragma once

#include <canopy/engine/request_spec.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cache/cache_state.h>
#include <cache/drain/drainer.h>
#include <cache/guard/ports.h>
#include <cache/pages/page_flow.h>
#include <cache/tenants/retentions.h>

namespace canopy {

/// Implements Request and the request functions of Engine over the plain state.
class RequestFlow {
 public:
  RequestFlow(PageFlow& pages, Drainer& drainer, Retentions& retentions, bool insert_at_finish)
      : pages_(pages),
        state_(pages.state()),
        drainer_(drainer),
        retentions_(retentions),
        insert_at_finish_(insert_at_finish) {}
  ~RequestFlow();
  RequestFlow(const RequestFlow&) = delete;

  /// Returns true, and records a violation, if `spec` is invalid.
  bool refuses(const RequestSpec& spec, const char* call) {
    if (possible(spec)) return false;
    refuse(spec, call);
    return true;
  }
  Admission admits(const RequestSpec& spec);
  Found find(const RequestSpec& spec);
  /// Returns the priority of a request: the highest that its retention asks for, too.
  static std::int32_t priority_of(const RequestSpec& spec);
  static constexpr std::size_t kPrefetched = 16;
  /// Lets the index prefetch what calls of find() for the first kPrefetched requests will read.
  void prefetch(std::span<const RequestSpec> specs);
  /// Returns null, and records a violation, if `spec` is invalid.
  RequestState* begin(const RequestSpec& spec);
  /// Ends the request if it has not ended, and keeps its memory for another request.
  void destroy(RequestState& request);

  // For fetches. A fetch is a request that computes nothing: policies do not see it arrive, and request counters
  // exclude it.
  struct Arrival {
    Key key;
    RequestFacts facts;
  };
  /// Returns the key that a possible request looks for, and the facts that policies receive. Valid until the next call.
  Arrival arrival(const RequestSpec& spec, bool prints_wanted);
  /// Begins a fetch, and locks what is resident of the first `units` units.
  RequestState* begin_fetch(const RequestSpec& spec, Units units);
  /// Takes one page for each page that `from` lists in a group, in path order after the locked ones; they are then
  /// moving. Returns the number of path pages taken: all or none if a group has a reach.
  std::size_t reserve_fetch(RequestState& request, std::span<const std::vector<Page>> from);
  /// Gives the filled pages to the index.
  /// Returns false if the index does not have them: the system has no memory.
  bool commit_fetch(RequestState& request, Units units) noexcept;
  void end_fetch(RequestState& request);

  void append(RequestState& request, std::span<const Token> tokens);
  bool reserve(RequestState& request, std::uint32_t tokens, std::uint32_t soon);
  void advance(RequestState& request, std::uint32_t tokens);
  /// Returns the number of tokens whose pages in the first group's row were replaced by the index's.
  std::uint32_t commit(RequestState& request, std::uint32_t tokens);
  std::uint32_t rematch(RequestState& request);
  void retract(RequestState& request);
  std::uint32_t resume(RequestState& request);
  void finish(RequestState& request, std::uint32_t tokens);
  /// Releases everything, counts and publishes the end. Ending::none: the end of a fetch, which is not counted.
  void end(RequestState& request, Ending ending);

  std::uint32_t reserved(const RequestState& request) const;
  std::uint32_t committed(const RequestState& request) const {
    return static_cast<std::uint32_t>(request.own_from * state_.page_size);
  }
  /// Returns the store for `count` rows from token `first` on. Returns null, and records a violation, if there is no
  /// store, if the request lacks a page for a row, or if a row lies before the token `least`.
  StorePort* store_for(const RequestState& request, const char* call, std::uint32_t layer, std::uint32_t first,
                       std::uint32_t count, std::size_t group, std::uint32_t least);
  std::size_t groups() const { return state_.pools.size(); }
  CacheState& state() { return state_; }
  /// Records a violation: the caller broke a REQUIRES.
  void misused(const RequestState& request, std::string_view how);

 private:
  /// Most tokens of a request. Depths are 32-bit numbers, and sums of two of them must not wrap.
  static constexpr std::size_t kMostTokens = std::size_t{1} << 31;
  /// Return the words of tokens. Those of a spec are valid until the next call.
  std::span<const std::uint32_t> words_of(const RequestSpec& spec) {
    words_.clear();
    return state_.codec->encode(spec.prompt, words_);
  }
  std::span<const std::uint32_t> words_of(RequestState& request, std::size_t tokens) {
    return state_.codec->encode(std::span<const Token>(request.tokens).first(tokens), request.words);
  }
  void make_state();
  RequestState& make(const RequestSpec& spec, std::span<const Token> tokens);
  void unmake(RequestState& request);
  template <class Words>
  void use_prints(RequestFacts& facts, Words&& words_of_prompt);
  void set_moving(RequestState& request, bool moving);
  RequestFacts facts_of(RequestState& request, std::size_t prompt, Ending ending);
  void match(RequestState& request);
  Key reusable_key(RequestState& request);
  Key reusable_key(const RequestSpec& spec);
  Key reusable(const Key& usable, std::uint64_t prompt, std::uint64_t total, std::uint64_t chunk);
  std::size_t kept_by_a_lock() const;
  bool possible(const RequestSpec& spec) const {
    return state_.spaces.knows(spec.space) && spec.prompt.size() <= kMostTokens;
  }
  std::string flaw_of(const RequestSpec& spec) const;
  void refuse(const RequestSpec& spec, const char* call);
  void publish(const RequestState& request, RequestPhase phase);
  void admit(RequestState& request);

  // request_flow_pages.cpp
  bool may_compute(const RequestState& request, const char* call, std::uint32_t tokens);
  void make_room(std::vector<Page>& row, std::size_t length);
  void make_room(RequestState& request, const Key& key);
  void set_rows(RequestState& request);
  bool extend(RequestState& request, std::size_t group, std::size_t length);
  std::uint32_t insert(RequestState& request, std::uint32_t tokens, bool chunked);
  void transfer_to_index(RequestState& request, const Inserted& inserted, const GroupPages& brought);
  void relax(RequestState& request, std::size_t group, std::size_t page);
  void trim(RequestState& request, std::size_t group, std::size_t page);
  void free_owned(RequestState& request, std::size_t group, std::size_t first, std::size_t end, const char* by);
  void release_all(RequestState& request, Ending ending);
  bool move_windows(RequestState& request);

  PageFlow& pages_;
  CacheState& state_;
  Drainer& drainer_;
  Retentions& retentions_;
  bool insert_at_finish_;
  std::uint64_t next_request_ = 1;
  std::vector<RequestState*> ended_;  ///< requests that have ended but are not destroyed
  KeyWords words_;
  std::array<KeyWords, kPrefetched> prefetched_words_;
  std::vector<std::uint64_t> prints_;
  std::vector<Page> scratch_;
};

}  // namespace canopy
