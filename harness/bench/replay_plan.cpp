#include "replay_plan.h"

#include <algorithm>
#include <iterator>

namespace canopy::bench {

void ReplayPlan::matched(std::span<const Page> pages) {
  for (std::size_t i = 0; i < pages.size();) {
    std::size_t count = 1;
    while (i + count < pages.size() && place_[pages[i + count]] == place_[pages[i]] + count) ++count;
    pieces_.push_back({place_[pages[i]] * page_size_, count * page_size_});
    i += count;
  }
  requests_.push_back({pieces_.size(), {0, 0}});
}

void ReplayPlan::left(std::span<const Page> pages) {
  std::vector<std::size_t> places;
  for (const Page page : pages) places.push_back(place_[page]);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size();) {
    std::size_t count = 1;
    while (i + count < places.size() && places[i + count] == places[i] + count) ++count;
    give_back(places[i], count);
    i += count;
  }
}

void ReplayPlan::added(std::span<const Page> pages) {
  if (pages.empty()) return;
  const std::size_t first = take(pages.size());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (pages[i] >= place_.size()) place_.resize(pages[i] + 1);
    place_[pages[i]] = first + i;
  }
  requests_.back().added = {first * page_size_, pages.size() * page_size_};
}

/// The smallest gap that is large enough, or new memory at the end.
std::size_t ReplayPlan::take(std::size_t pages) {
  const auto found = free_by_length_.lower_bound({pages, 0});
  if (found == free_by_length_.end()) return std::exchange(end_, end_ + pages);
  const auto [length, first] = *found;
  free_by_length_.erase(found);
  free_.erase(first);
  if (length > pages) {
    free_.emplace(first + pages, length - pages);
    free_by_length_.emplace(length - pages, first + pages);
  }
  return first;
}

void ReplayPlan::give_back(std::size_t first, std::size_t pages) {
  const auto forget = [&](std::map<std::size_t, std::size_t>::iterator gap) {
    free_by_length_.erase({gap->second, gap->first});
    free_.erase(gap);
  };
  auto after = free_.lower_bound(first);
  if (after != free_.begin())
    if (const auto before = std::prev(after); before->first + before->second == first) {
      first = before->first;
      pages += before->second;
      forget(before);
    }
  if (after != free_.end() && first + pages == after->first) {
    pages += after->second;
    forget(after);
  }
  free_.emplace(first, pages);
  free_by_length_.emplace(pages, first);
}

}  // namespace canopy::bench
