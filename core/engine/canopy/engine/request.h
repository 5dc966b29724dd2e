#pragma once

#include <canopy/kv_store.h>
#include <canopy/prefix_index.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace canopy {

class Engine;

/// A running request. Its page row, per group, in token order:
///
///   | gone: 0 ... | tree's pages, under lock ........ | its own pages .......................... |
///   0       first_page()                       committed()                              row().size()
///
/// Moving on turns own pages into the tree's (commit), and in groups with a reach gives back what no later token
/// can see (advance); what is left is freed when the request ends. Destroying an unfinished request aborts it.
class Request {
 public:
  Request(Request&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Request() { abort(); }

  std::uint64_t id() const;
  std::span<const Token> tokens() const;  ///< prompt and output so far
  std::uint32_t matched() const;          ///< tokens that were resident when it began: nothing to compute
  std::uint32_t computed() const;         ///< tokens it has said are computed, or matched
  std::uint32_t committed() const;        ///< tokens whose pages are the tree's
  std::uint32_t reserved() const;         ///< tokens that may be written: computed, or with a page in every group
  bool ended() const { return state_ == nullptr; }

  /// Pages for the first `tokens` tokens, evicting exactly what is missing. Groups with a reach get theirs for the
  /// first `soon` tokens only, if that is less: they give pages back behind them for those they need ahead, so a
  /// long prompt in chunks takes a small pool. False, and nothing has changed, if some group's pool has not so
  /// many pages that are free or may leave: wait, or retract somebody.
  bool reserve(std::uint32_t tokens, std::uint32_t soon = ~std::uint32_t{0});
  /// One more token; reserve a page for it before writing.
  void append(Token token);
  /// The pages of a group, token order: what an attention kernel reads. 0 where the group has none: before
  /// first_page(), and between the pages that a group with `every` keeps. Valid until the next call.
  std::span<const Page> row(std::size_t group = 0) const;
  std::size_t first_page(std::size_t group = 0) const;

  /// Rows of `count` tokens from `first` on. REQUIRES: the group has a store, and pages for all of them;
  /// first >= committed() for write.
  void write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from, std::size_t group = 0);
  void read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to, std::size_t group = 0) const;

  /// The first `tokens` tokens are computed, and nothing becomes reusable yet: groups with a reach give back what
  /// no later token can see. REQUIRES: tokens <= reserved().
  void advance(std::uint32_t tokens);
  /// advance, and the whole pages of these tokens become reusable. Where another request was faster, the row
  /// points to the tree's pages from now on and this request's own are freed. Returns for how many tokens that
  /// was so.
  std::uint32_t commit(std::uint32_t tokens);
  /// commit, and the end. `tokens` as in commit; 0: nothing new becomes reusable. With `insert_at_finish: false`
  /// nothing does.
  void finish(std::uint32_t tokens);
  /// The end, at any step; leaves nothing behind but what was committed.
  void abort();

  /// Makes room for others: all its pages and its lock are given back, but it keeps its tokens. What it computed
  /// and has not committed is lost.
  void retract();
  /// Begins again after a retraction, with all its tokens: how many of them are resident now, at least one being
  /// left to compute. REQUIRES: it was retracted, and has reserved nothing since.
  std::uint32_t resume();

 private:
  friend class Engine;
  struct State {
    Engine* engine = nullptr;
    std::uint64_t id = 0;
    std::size_t live_at = 0;
    NamespaceId space{};
    std::int32_t priority = 0;
    std::uint64_t hints = 0;
    std::uint32_t prompt = 0, leave = 0, matched = 0, computed = 0;
    Lock lock;
    std::vector<Token> tokens;
    std::array<std::vector<Page>, kMaxGroups> rows;
    std::array<std::size_t, kMaxGroups> first{};  ///< pages before it are gone
    std::size_t own_from = 0;                     ///< pages of the rows that are the tree's, or gone
  };
  explicit Request(State* state) : state_(state) {}
  std::uint32_t insert(std::uint32_t tokens, bool chunked);
  void let_go(const RequestFacts* finished);
  void end(const RequestFacts* finished);

  State* state_;
};

}  // namespace canopy
