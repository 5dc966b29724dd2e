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
///   | tree's pages, under lock ......... | its own pages ............................. |
///   0                          committed()                                    reserved()
///
/// Moving on turns own pages into the tree's (commit); what is left of them is freed when the request ends.
/// Destroying an unfinished request aborts it.
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
  std::uint32_t committed() const;        ///< tokens whose pages are the tree's
  std::uint32_t reserved() const;         ///< tokens that have a page
  bool ended() const { return state_ == nullptr; }

  /// Pages for the first `tokens` tokens, evicting exactly what is missing. False if that is not to be had now
  /// (what was evicted on the way stays evicted): wait, or abort.
  bool reserve(std::uint32_t tokens);
  /// One more token; reserve a page for it before writing.
  void append(Token token);
  /// The pages of a group, token order: what an attention kernel reads. Valid until the next call.
  std::span<const Page> row(std::size_t group = 0) const;

  /// Rows of `count` tokens from `first` on. REQUIRES: the engine has a store; first >= committed() for write;
  /// first + count <= reserved().
  void write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from, std::size_t group = 0);
  void read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to, std::size_t group = 0) const;

  /// The first `tokens` tokens are computed: their whole pages become reusable. Where another request was
  /// faster, the row points to the tree's pages from now on and this request's own are freed.
  /// Returns for how many tokens that was so. REQUIRES: tokens <= reserved().
  std::uint32_t commit(std::uint32_t tokens);
  /// commit, and the end. `tokens` as in commit; 0: nothing new becomes reusable.
  void finish(std::uint32_t tokens);
  /// The end, at any step; leaves nothing behind but what was committed.
  void abort();

 private:
  friend class Engine;
  struct State {
    Engine* engine = nullptr;
    std::uint64_t id = 0;
    std::size_t live_at = 0;
    NamespaceId space{};
    std::int32_t priority = 0;
    std::uint64_t hints = 0;
    std::uint32_t prompt = 0, matched = 0;
    Lock lock;
    std::vector<Token> tokens;
    std::array<std::vector<Page>, kMaxGroups> rows;
    std::size_t own_from = 0;  ///< pages of the rows that are the tree's
  };
  explicit Request(State* state) : state_(state) {}
  std::uint32_t insert(std::uint32_t tokens, bool chunked);
  void end(const RequestFacts* finished);

  State* state_;
};

}  // namespace canopy
