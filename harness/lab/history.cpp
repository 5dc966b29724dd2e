#include "history.h"

#include <algorithm>

namespace canopy::lab {

std::uint32_t History::add(std::span<const std::uint64_t> prints) {
  const auto number = static_cast<std::uint32_t>(visits_.size());
  const std::size_t first_reuse = reuses_.size();
  std::uint32_t continued = 0, ends_in = 0;
  path_.clear();
  for (std::size_t depth = 0; depth < prints.size();) {
    const auto rest = prints.subspan(depth);
    const auto [place, is_new] = first_.try_emplace(rest[0], static_cast<std::uint32_t>(nodes_.size()));
    ends_in = place->second;
    if (is_new) {
      nodes_.push_back({prints_.size(), static_cast<Units>(rest.size()), number, 0});
      prints_.insert(prints_.end(), rest.begin(), rest.end());
      path_.push_back(nodes_.back());
      break;
    }
    const std::span<const std::uint64_t> known(prints_.data() + nodes_[ends_in].at, nodes_[ends_in].length);
    // The first print that differs: all behind it differ too.
    std::size_t shared = 1, apart = std::min(known.size(), rest.size());
    while (shared < apart) {
      const std::size_t middle = shared + (apart - shared) / 2;
      if (known[middle] == rest[middle]) shared = middle + 1;
      else apart = middle;
    }
    if (shared < known.size()) split(nodes_[ends_in], static_cast<Units>(shared));
    Node& node = nodes_[ends_in];
    const auto begin = static_cast<Units>(depth), end = static_cast<Units>(depth + shared);
    if (reuses_.size() > first_reuse && reuses_.back().by == node.by) reuses_.back().end = end;
    else reuses_.push_back({begin, end, node.by});
    node.by = number;
    if (node.turn != 0) continued = node.turn;
    path_.push_back(node);
    depth += shared;
  }
  const std::uint32_t turn = continued + 1;
  if (!prints.empty()) nodes_[ends_in].turn = turn;
  visits_.push_back({static_cast<Units>(prints.size()), turn, reuses_.size()});
  return number;
}

/// Cuts a node behind its first `length` units.
void History::split(Node& node, Units length) {
  Node lower = node;
  lower.at += length;
  lower.length -= length;
  node.length = length;
  node.turn = 0;
  first_.emplace(prints_[lower.at], static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back(lower);  // `node` may lie elsewhere from now on
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
