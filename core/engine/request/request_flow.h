#pragma once

#include <canopy/engine/request_spec.h>
#include <canopy/engine/state.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drain/drainer.h"
#include "pages/page_flow.h"

namespace canopy {

/// The life of a request: what Request and Engine offer, over the plain state.
class RequestFlow {
 public:
  RequestFlow(PageFlow& pages, Drainer& drainer, bool insert_at_finish)
      : pages_(pages), state_(pages.state()), drainer_(drainer), insert_at_finish_(insert_at_finish) {}
  ~RequestFlow();
  RequestFlow(const RequestFlow&) = delete;

  /// Whether no request can be like this; then it is said.
  bool refuses(const RequestSpec& spec, const char* call) {
    if (possible(spec)) return false;
    refuse(spec, call);
    return true;
  }
  Admission admits(const RequestSpec& spec);
  Found find(const RequestSpec& spec);
  /// Null, and it is said, if no request can be like this.
  RequestState* begin(const RequestSpec& spec);
  /// The Request is destroyed: it ends if it has not, and its storage may be used again.
  void let_go(RequestState& request);

  // For fetches, request_fetch.cpp. A fetch is a request that computes nothing: it is no arrival for a policy, and no
  // counter of requests counts it.
  struct Arrival {
    Key key;
    RequestFacts facts;
  };
  /// What a request that may begin looks for, and what a policy is told of it; valid until the next call.
  Arrival arrival(const RequestSpec& spec, bool prints_wanted);
  /// Holds what is resident of the first `units` units.
  RequestState* begin_fetch(const RequestSpec& spec, Units units);
  /// Takes a page for each that `from` names in a group, in path order behind what is held; from then on they are
  /// moving. Returns how many pages of the path could be had: where a group has a reach, all or none.
  std::size_t reserve_fetch(RequestState& request, std::span<const std::vector<Page>> from);
  /// They are filled: they become the index's.
  void commit_fetch(RequestState& request, Units units);
  void end_fetch(RequestState& request);

  bool reserve(RequestState& request, std::uint32_t tokens, std::uint32_t soon);
  void advance(RequestState& request, std::uint32_t tokens);
  /// Returns how many tokens another request had inserted first.
  std::uint32_t commit(RequestState& request, std::uint32_t tokens);
  std::uint32_t rematch(RequestState& request);
  void retract(RequestState& request);
  std::uint32_t resume(RequestState& request);
  void finish(RequestState& request, std::uint32_t tokens);
  void abort(RequestState& request);

  std::uint32_t reserved(const RequestState& request) const;
  std::uint32_t committed(const RequestState& request) const {
    return static_cast<std::uint32_t>(request.own_from * state_.page_size);
  }
  /// The store for `count` rows from token `first` on; null, and it is said, if there is none, or if the request has
  /// no page for one of them. `least`: no row may lie before this token.
  KVStore* store_for(const RequestState& request, const char* call, std::uint32_t layer, std::uint32_t first,
                     std::uint32_t count, std::size_t group, std::uint32_t least);
  std::size_t groups() const { return state_.pools.size(); }
  EngineState& state() { return state_; }
  /// The caller broke a REQUIRES: a violation.
  void misused(const RequestState& request, std::string_view how);

 private:
  /// Of a request. Depths are 32-bit numbers, and sums of two of them must not wrap.
  static constexpr std::size_t kMostTokens = std::size_t{1} << 31;
  struct Words final : Scratch {
    std::vector<std::uint32_t> room;
    std::span<std::uint32_t> words(std::size_t count) override;
  };
  std::span<const std::uint32_t> encode(std::span<const Token> tokens) { return state_.codec->encode(tokens, words_); }
  void make_state();
  RequestState& make(const RequestSpec& spec, std::span<const Token> tokens);
  void use_prints(RequestFacts& facts, std::span<const Token> prompt);
  void set_moving(RequestState& request, bool moving);
  RequestFacts facts_of(const RequestState& request, std::span<const Token> prompt, Ending ending);
  void match(RequestState& request);
  Key reusable_key(const RequestState& request);
  Key reusable_key(const RequestSpec& spec);
  std::size_t reusable(NamespaceId space, std::span<const Token> tokens, std::size_t most, std::uint64_t total,
                       std::uint64_t chunk);
  std::size_t kept_by_a_lock() const;
  bool possible(const RequestSpec& spec) const {
    return state_.spaces.knows(spec.space) && spec.prompt.size() <= kMostTokens;
  }
  std::string flaw_of(const RequestSpec& spec) const;
  void refuse(const RequestSpec& spec, const char* call);
  void give_back(RequestState& request, Ending ending);
  void retire(RequestState& request);
  void end(RequestState& request, Ending ending);
  void publish(const RequestState& request, RequestPhase phase);

  // request_pages.cpp
  bool may_compute(const RequestState& request, const char* call, std::uint32_t tokens);
  void stand_on(RequestState& request, const GroupPages& resident);
  bool extend(RequestState& request, std::size_t group, std::size_t length);
  std::uint32_t insert(RequestState& request, std::uint32_t tokens, bool chunked);
  void take_over(RequestState& request, const Inserted& inserted, const GroupPages& brought);
  void trim(RequestState& request, std::size_t group, std::size_t page);
  void free_own(RequestState& request, std::size_t group, std::size_t first, std::size_t end, const char* by);
  void give_back(RequestState& request, const RequestFacts* ended);

  PageFlow& pages_;
  EngineState& state_;
  Drainer& drainer_;
  bool insert_at_finish_;
  std::uint64_t next_request_ = 1;
  std::vector<RequestState*> ended_;  ///< requests that have ended and are not destroyed
  Words words_;
  std::vector<std::uint64_t> prints_;
  std::vector<Page> scratch_;
};

}  // namespace canopy
