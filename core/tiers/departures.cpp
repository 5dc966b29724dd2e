// A path is stored as a whole or not at all: its words, and its pages of all groups, one group after the other.
// `pages_` has the pages of all paths in the order of `paths_`, so those of a path end where those of the next one
// begin.

#include "departures.h"

#include <algorithm>
#include <new>

namespace canopy {

void Departures::leaving(const Leaving& node) try {
  if (on_last_path(node)) {
    paths_.back().begin = std::min(paths_.back().begin, node.facts.begin);
    return;
  }
  if (words_ + node.words.size() > kMostWords) {
    forgotten_ += node.facts.length;
    return;
  }
  std::size_t count = pages_.size();
  for (std::size_t g = 0; g < groups_; ++g) count += node.pages[g].size();
  if (pages_.capacity() < count) pages_.reserve(std::max(count, 2 * pages_.capacity()));
  paths_.push_back(
      {node.facts.space, node.facts.begin, node.facts.priority, {node.words.begin(), node.words.end()}, pages_.size()});
  for (std::size_t g = 0; g < groups_; ++g) pages_.insert(pages_.end(), node.pages[g].begin(), node.pages[g].end());
  words_ += node.words.size();
} catch (const std::bad_alloc&) {
  forgotten_ += node.facts.length;
  ++lacked_;
}

bool Departures::on_last_path(const Leaving& node) const {
  if (paths_.empty() || paths_.back().space != node.facts.space || paths_.back().words.size() < node.words.size())
    return false;
  return std::equal(node.words.begin(), node.words.end(), paths_.back().words.begin());
}

}  // namespace canopy
