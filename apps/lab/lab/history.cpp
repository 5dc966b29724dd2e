#include "history.h"

#include <algorithm>

namespace canopy::lab {

std::uint32_t History::add(std::span<const std::uint64_t> prints) {
  const auto number = static_cast<std::uint32_t>(visits_.size());
  const std::size_t first_reuse = reuses_.size();
  path_.clear();
  for (std::size_t depth = 0; depth < prints.size();) {
    const auto rest = prints.subspan(depth);
    const auto [place, is_new] = first_.try_emplace(rest[0], static_cast<std::uint32_t>(nodes_.size()));
    const std::uint32_t found = place->second;
    if (is_new) {
      nodes_.push_back({prints_.size(), static_cast<Units>(rest.size()), number});
      prints_.insert(prints_.end(), rest.begin(), rest.end());
      path_.push_back(nodes_.back());
      break;
    }
    const std::span<const std::uint64_t> known(prints_.data() + nodes_[found].at, nodes_[found].length);
    // Finds the first print that differs: all prints after it differ too.
    std::size_t shared = 1, apart = std::min(known.size(), rest.size());
    while (shared < apart) {
      const std::size_t middle = shared + (apart - shared) / 2;
      if (known[middle] == rest[middle]) shared = middle + 1;
      else apart = middle;
    }
    if (shared < known.size()) split(nodes_[found], static_cast<Units>(shared));
    Node& node = nodes_[found];
    const auto begin = static_cast<Units>(depth), end = static_cast<Units>(depth + shared);
    if (reuses_.size() > first_reuse && reuses_.back().by == node.by) reuses_.back().end = end;
    else reuses_.push_back({begin, end, node.by});
    node.by = number;
    path_.push_back(node);
    depth += shared;
  }
  visits_.push_back({static_cast<Units>(prints.size()), 1, reuses_.size()});
  visits_.back().turn = turn_of(prints, seen(number));
  return number;
}

std::uint32_t History::turn_of(std::span<const std::uint64_t> prints, Units seen) {
  std::uint32_t turn = 1;
  for (Units depth = seen / stride_ * stride_; depth > 0; depth -= stride_)
    if (const auto continued = turns_.find(prints[depth - 1]); continued != turns_.end()) {
      turn = continued->second + 1;
      break;
    }
  const std::size_t whole = prints.size() / stride_ * stride_;
  if (whole > seen) turns_.emplace(prints[whole - 1], turn);
  return turn;
}

/// Cuts a node after its first `length` units.
void History::split(Node& node, Units length) {
  Node lower = node;
  lower.at += length;
  lower.length -= length;
  node.length = length;
  first_.emplace(prints_[lower.at], static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back(lower);  // may move the nodes: `node` is no longer valid
}

std::span<const Reuse> History::reuses(std::uint32_t request) const {
  const std::size_t begin = request == 0 ? 0 : visits_[request - 1].reuses_end;
  return std::span(reuses_).subspan(begin, visits_[request].reuses_end - begin);
}

Units History::seen(std::uint32_t request) const {
  const auto all = reuses(request);
  return all.empty() ? 0 : all.back().end;
}

void History::numbers_of_last(std::vector<std::uint32_t>& numbers) const {
  numbers.clear();
  for (const Node& piece : path_)
    for (Units i = 0; i < piece.length; ++i) numbers.push_back(static_cast<std::uint32_t>(piece.at + i));
}

}  // namespace canopy::lab
