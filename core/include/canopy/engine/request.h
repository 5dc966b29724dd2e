#pragma once

#include <canopy/kv_store.h>
#include <canopy/prefix_index.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace canopy {

struct RequestState;

/// A running request. Its page row, per group, in token order:
///
///   | gone: 0 ... | the index's, under the lock ..... | owned by the request ................... |
///   0       first_page()                       committed()                              row().size()
///
/// It is admitted when reserve() first returns true, or when advance(), commit() or finish() first marks a token as
/// computed. It then counts as a request of the engine (Counters), once, with what its last match has found. A request
/// that ends before, such as one that found no room, was only a try.
///
/// commit() gives owned pages to the index. In groups with a reach, advance() frees pages that no later token can see.
/// The rest is freed when the request ends. Destroying an unfinished request aborts it.
///
/// A call that breaks a REQUIRES, or that comes after the end, changes nothing: it returns false, 0 or an empty span,
/// and Engine::ledger records a violation. A request that was moved from, or that outlives its engine, has no ledger:
/// its violation goes to stderr.
class Request {
 public:
  /// Creates a request that has ended.
  Request();
  /// For Engine::begin only.
  explicit Request(RequestState& state) : state_(&state) {}
  Request(Request&& other) noexcept : Request() { std::swap(state_, other.state_); }
  Request& operator=(Request&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Request();

  // The functions of this block may also be called after the end.
  std::uint64_t id() const;
  std::span<const Token> tokens() const;  ///< prompt and output so far
  std::uint32_t matched() const;          ///< tokens that were resident when it began and need no computation
  /// Returns the number of tokens that were resident in the whole-path groups when it began, at least matched(). It is
  /// larger if a window or a state is missing; the next state of this prefix is best kept near that length.
  std::uint32_t full_length() const;
  std::uint32_t computed() const;  ///< tokens reported as computed, or matched
  /// Returns the tokens of the prompt that the engine promised to keep after it finishes: those of the longest
  /// RequestSpec::retention within the budget of its tenant. 0 after retract(). Becomes less while the request runs
  /// where a group has a reach: at a commit, a rematch or the end, if no boundary is left at the end of the prefix;
  /// in reserve(), if the request finds room only without what it keeps.
  std::uint32_t retained() const;
  bool admitted() const;  ///< true once it counts as a request, also after the end
  bool ended() const;
  std::uint32_t committed() const;  ///< tokens whose pages belong to the index; 0 after the end
  std::uint32_t reserved() const;   ///< tokens that may be written: computed, or with a page in every group

  /// Gets pages for the first `tokens` tokens, and evicts exactly as many as are missing. Groups with a reach get pages
  /// only for the first `soon` tokens, if that is less: they free pages behind them as they need pages ahead, so a long
  /// prompt in chunks needs only a small pool. Returns false, and changes nothing, if a group's pool has too few free
  /// and evictable pages: wait, or retract another request. REQUIRES: it is not retracted.
  bool reserve(std::uint32_t tokens, std::uint32_t soon = ~std::uint32_t{0});
  /// Appends tokens. Reserve pages for them before writing.
  void append(std::span<const Token> tokens);
  void append(Token token) { append(std::span(&token, 1)); }
  /// Returns a group's pages in token order, for attention kernels. 0 where the group has none: before first_page(),
  /// and between the pages that a group with `every` keeps. Valid until the next call.
  std::span<const Page> row(std::size_t group = 0) const;
  std::size_t first_page(std::size_t group = 0) const;

  /// Write or read the rows of `count` tokens from `first` on. REQUIRES: the group has a store, and pages for all of
  /// them. For write, first >= committed(): earlier rows belong to the index, and other requests read them.
  void write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from, std::size_t group = 0);
  void read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to, std::size_t group = 0) const;

  /// Marks the first `tokens` tokens as computed. Nothing becomes reusable yet. Groups with a reach free pages that no
  /// later token can see. REQUIRES: tokens <= reserved(), tokens <= tokens().size(); so do commit and finish.
  void advance(std::uint32_t tokens);
  /// Advances, and makes the whole pages of these tokens reusable. Where another request inserted them first, the row
  /// then names the index's pages, and this request's pages are freed. Returns the number of tokens replaced in this
  /// way.
  std::uint32_t commit(std::uint32_t tokens);
  /// Matches the prefix again, since other requests may have committed more of it. If the match is longer than
  /// computed(), takes it over: the row then names the index's pages, this request's pages are freed, and these tokens
  /// need no computation. Returns the number of tokens taken over; they count as hits. Call it while the request waits
  /// for room, or between the steps of a long prefill. REQUIRES: it is not retracted.
  std::uint32_t rematch();
  /// Commits `tokens` tokens and ends the request. Nothing new becomes reusable if `tokens` is 0 or `insert_at_finish`
  /// is false. If `tokens` is too large, the request still ends, and nothing new becomes reusable.
  void finish(std::uint32_t tokens);
  /// Ends the request at any step. Keeps only what was committed.
  void abort();

  /// Preempts the request: releases all its pages and its lock, and keeps its tokens. Uncommitted results are lost.
  /// REQUIRES: it is not retracted.
  void retract();
  /// Restarts a retracted request with all its tokens. Returns the number of them that are resident now; at least one
  /// is left to compute. REQUIRES: it was retracted.
  std::uint32_t resume();

 private:
  template <class Call>
  auto guarded(const char* name, Call&& call) const;
  bool has_group(const char* name, std::size_t group) const;

  RequestState* state_;  ///< never null
};

}  // namespace canopy
