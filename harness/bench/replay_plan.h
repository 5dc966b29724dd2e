#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace canopy::bench {

/// Places of a replay's words in the floor's memory: one piece for each insert, and memory is reused when pages are
/// evicted. So the floor touches as many bytes as an index that copies each insert once, as far apart and as long ago.
class ReplayPlan {
 public:
  struct Piece {
    std::size_t at;     ///< in words
    std::size_t count;  ///< words
  };
  struct Request {
    std::size_t pieces_end = 0;  ///< one past its last piece in `pieces`
    Piece added{0, 0};
  };

  explicit ReplayPlan(Units page_size) : page_size_(page_size) {}

  /// In the order of the replay, for each request: the pages that matched, were evicted and were added.
  void matched(std::span<const Page> pages);
  void left(std::span<const Page> pages);
  void added(std::span<const Page> pages);

  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<Request>& requests() const { return requests_; }
  std::size_t words() const { return end_ * page_size_; }  ///< memory that it needs

 private:
  std::size_t take(std::size_t pages);
  void give_back(std::size_t first, std::size_t pages);

  Units page_size_;
  std::vector<Piece> pieces_;
  std::vector<Request> requests_;
  std::vector<std::size_t> place_;  ///< of a page, in pages
  std::size_t end_ = 0;
  std::map<std::size_t, std::size_t> free_;                       ///< place to length, neighbours merged
  std::set<std::pair<std::size_t, std::size_t>> free_by_length_;  ///< the same as (length, place)
};

}  // namespace canopy::bench
