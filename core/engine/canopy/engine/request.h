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
/// commit() gives owned pages to the index. advance() gives back, in groups with a reach, pages that no later token can
/// see. The rest is freed when the request ends. Destroying an unfinished request aborts it.
///
/// A call that breaks a REQUIRES, or that comes after the end, changes nothing: it returns false, 0 or an empty span,
/// and Engine::ledger has a violation with a sentence. A request that was moved from, or that outlives its engine,
/// has no ledger: its sentence goes to stderr.
class Request {
 public:
  /// A request that has ended.
  Request();
  /// Engine::begin makes it.
  explicit Request(RequestState& state) : state_(&state) {}
  Request(Request&& other) noexcept : Request() { std::swap(state_, other.state_); }
  Request& operator=(Request&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Request();

  // These may also be read after the end.
  std::uint64_t id() const;
  std::span<const Token> tokens() const;  ///< prompt and output so far
  std::uint32_t matched() const;          ///< tokens that were resident when it began: nothing to compute
  /// Tokens that the whole-path groups had when it began, at least matched(): where windows or states are missing they
  /// reach further, and the next state of this prefix is best kept near there.
  std::uint32_t full_length() const;
  std::uint32_t computed() const;  ///< tokens it has said are computed, or matched
  bool ended() const;
  std::uint32_t committed() const;  ///< tokens whose pages are the index's; 0 after the end
  std::uint32_t reserved() const;   ///< tokens that may be written: computed, or with a page in every group

  /// Pages for the first `tokens` tokens, evicting exactly what is missing. Groups with a reach get theirs for the
  /// first `soon` tokens only, if that is less: they give pages back behind them for those they need ahead, so a
  /// long prompt in chunks takes a small pool. False, and nothing has changed, if some group's pool has too few
  /// pages that are free or may be evicted: wait, or retract another request. REQUIRES: it is not retracted.
  bool reserve(std::uint32_t tokens, std::uint32_t soon = ~std::uint32_t{0});
  /// More tokens; reserve pages for them before writing.
  void append(std::span<const Token> tokens);
  void append(Token token) { append(std::span(&token, 1)); }
  /// The pages of a group, token order: what an attention kernel reads. 0 where the group has none: before
  /// first_page(), and between the pages that a group with `every` keeps. Valid until the next call.
  std::span<const Page> row(std::size_t group = 0) const;
  std::size_t first_page(std::size_t group = 0) const;

  /// Rows of `count` tokens from `first` on. REQUIRES: the group has a store, and pages for all of them;
  /// for write, first >= committed(): what lies before it belongs to the index, and other requests read it.
  void write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from, std::size_t group = 0);
  void read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to, std::size_t group = 0) const;

  /// The first `tokens` tokens are computed. Nothing becomes reusable yet. Groups with a reach give back pages that no
  /// later token can see. REQUIRES: tokens <= reserved(), tokens <= tokens().size(); so do commit and finish.
  void advance(std::uint32_t tokens);
  /// advance, and the whole pages of these tokens become reusable. Where another request inserted them first, the row
  /// names the index's pages from now on and this request's are freed. Returns for how many tokens that was so.
  std::uint32_t commit(std::uint32_t tokens);
  /// Looks again for its prefix, since other requests may have committed more of it meanwhile. What reaches further
  /// than computed() is taken over: the row names the index's pages, this request's are freed, and nothing of it is
  /// left to compute. Returns how many tokens that are; they count as hits. Call it between the steps of a long
  /// prefill. REQUIRES: it is not retracted.
  std::uint32_t rematch();
  /// commit, and the end. `tokens` as in commit; 0: nothing new becomes reusable. With `insert_at_finish: false`
  /// nothing does. If `tokens` are too many, the request ends all the same, and nothing new becomes reusable.
  void finish(std::uint32_t tokens);
  /// The end, at any step; leaves nothing behind but what was committed.
  void abort();

  /// Preempts the request: gives back all its pages and its lock, and keeps its tokens. What it computed and has not
  /// committed is lost. REQUIRES: it is not retracted.
  void retract();
  /// Begins again after a retraction, with all its tokens: how many of them are resident now, at least one being
  /// left to compute. REQUIRES: it was retracted.
  std::uint32_t resume();

 private:
  template <class Serve>
  auto serve(const char* call, Serve&& serve) const;

  RequestState* state_;  ///< never null
};

}  // namespace canopy
