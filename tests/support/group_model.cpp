#include "group_model.h"

#include <algorithm>
#include <unordered_map>

namespace canopy::test {
namespace {

GroupModel::Chain first(const GroupModel::Chain& words, Units length) {
  return {words.begin(), words.begin() + length};
}

bool begins_with(const GroupModel::Chain& words, const GroupModel::Chain& start) {
  return words.size() >= start.size() && std::equal(start.begin(), start.end(), words.begin());
}

}  // namespace

GroupModel::Chain GroupModel::units_of(std::span<const std::uint32_t> words, Units overlap) {
  Chain units;
  for (std::size_t i = 0; i + overlap < words.size(); ++i)
    units.push_back(overlap == 0 ? words[i] : words[i] << 16 | words[i + 1]);
  return units;
}

Page GroupModel::page(const Chain& words, Units depth, std::size_t group) const {
  const auto found = chains_.find(first(words, depth + page_));
  return found == chains_.end() ? 0 : found->second[group];
}

Units GroupModel::match(const Chain& words) const {
  const auto longest = static_cast<Units>(words.size() / page_ * page_);
  for (Units length = longest; length > 0; length -= page_) {
    bool serves = true;
    for (std::size_t g = 0; g < reaches_.size(); ++g) {
      const Units from = reaches_[g] >= length ? 0 : length - reaches_[g];
      for (Units depth = from / page_ * page_; depth < length; depth += page_) serves &= page(words, depth, g) != 0;
    }
    if (serves) return length;
  }
  return 0;
}

Units GroupModel::known(const Chain& words) const {
  Units length = 0;
  for (; length + page_ <= words.size(); length += page_) {
    const Chain start = first(words, length + page_);
    const auto at = chains_.lower_bound(start);
    const bool is_locked = std::any_of(locks.begin(), locks.end(),
                                       [&](const auto& lock) { return begins_with(lock.second.words, start); });
    if (!is_locked && (at == chains_.end() || !begins_with(at->first, start))) break;
  }
  return length;
}

std::array<std::vector<Page>, kMaxGroups> GroupModel::insert(const Chain& words, Units from, Units end,
                                                             const std::array<std::vector<Page>, kMaxGroups>& brought) {
  std::array<std::vector<Page>, kMaxGroups> spare;
  for (Units depth = from; depth < end; depth += page_) {
    Pages pages{};
    for (std::size_t g = 0; g < reaches_.size(); ++g) {
      const Page mine = page(words, depth, g), other = brought[g][(depth - from) / page_];
      pages[g] = mine ? mine : other;
      if (mine && other) spare[g].push_back(other);
    }
    if (pages != Pages{}) chains_[first(words, depth + page_)] = pages;
  }
  return spare;
}

Units GroupModel::needed_from(const Lock& lock, std::size_t group) const {
  const auto length = static_cast<Units>(lock.words.size());
  const Units window = reaches_[group] >= length ? 0 : length - reaches_[group];
  return std::max(window, std::min(lock.from[group], length)) / page_ * page_;
}

void GroupModel::relax(int number, std::size_t group, Units from) {
  if (reaches_[group] == kWholePath) return;
  Lock& lock = locks.at(number);
  const auto length = static_cast<Units>(lock.words.size());
  bool known = from / page_ * page_ < length;
  for (std::size_t g = 0; g < reaches_.size(); ++g) known |= g != group && needed_from(lock, g) < length;
  lock.from[group] = std::max(lock.from[group], known ? from : from - std::min(from, page_));
}

void GroupModel::left(std::size_t group, std::span<const Page> pages) {
  for (const Page page : pages) {
    const auto at =
        std::find_if(chains_.begin(), chains_.end(), [&](const auto& chain) { return chain.second[group] == page; });
    if (at == chains_.end()) disagree("page {} left group {}, where it was not", page, group);
    const auto end = static_cast<Units>(at->first.size());
    for (const auto& [number, lock] : locks)
      if (begins_with(lock.words, at->first) && end > needed_from(lock, group))
        disagree("page {} left group {} at depth {}, and lock {} of length {} needs it from {} on", page, group,
                 end - page_, number, lock.words.size(), needed_from(lock, group));
    gone_.emplace_back(group, at->first);
    at->second[group] = 0;
    if (at->second == Pages{}) chains_.erase(at);
  }
}

bool GroupModel::is_held(const Chain& words, std::size_t group) const {
  return std::any_of(locks.begin(), locks.end(), [&](const auto& lock) {
    return begins_with(lock.second.words, words) && words.size() > needed_from(lock.second, group);
  });
}

void GroupModel::check_shape() {
  for (const auto& [group, words] : gone_)
    for (std::size_t g = 0; g < reaches_.size(); ++g) {
      const auto depth = static_cast<Units>(words.size()) - page_;
      if (reaches_[g] < reaches_[group] && page(words, depth, g) != 0 && !is_held(words, g))
        disagree("group {} left depth {}, and group {}, which reaches less far, stayed", group, depth, g);
    }
  gone_.clear();
  for (std::size_t g = 0; g < reaches_.size(); ++g) {
    if (reaches_[g] != kWholePath) continue;
    for (const auto& [words, pages] : chains_)
      for (Units depth = 0; depth < words.size(); depth += page_)
        if (page(words, depth, g) == 0) disagree("group {} has a gap at depth {} above something", g, depth);
  }
}

void GroupModel::check(const PrefixIndex& index) const {
  // The index's own walk, as chains.
  struct Walk final : NodeVisitor {
    const GroupModel& model;
    std::unordered_map<NodeId, Chain> ends;
    std::map<Chain, Pages> chains;
    explicit Walk(const GroupModel& of) : model(of) {}
    void node(const NodeView& node) override {
      Chain words = node.parent == NodeId::none ? Chain{} : ends.at(node.parent);
      if (words.size() != node.facts.begin)
        disagree("a node begins at {} below a path of {}", node.facts.begin, words.size());
      const Chain units = units_of(node.words, model.overlap_);
      for (Units i = 0; i < node.facts.length; i += model.page_) {
        words.insert(words.end(), units.begin() + i, units.begin() + i + model.page_);
        Pages pages{};
        for (std::size_t g = 0; g < model.reaches_.size(); ++g)
          if (!node.pages[g].empty()) pages[g] = node.pages[g][i / model.page_];
        if (pages != Pages{}) chains.emplace(words, pages);
      }
      const bool is_held =
          std::any_of(node.locks.begin(), node.locks.end(), [](std::uint32_t count) { return count > 0; });
      const bool is_empty =
          std::all_of(node.pages.begin(), node.pages.end(), [](const auto& pages) { return pages.empty(); });
      if (node.facts.children == 0 && is_empty && !is_held) disagree("a leaf holds nothing in any group");
      ends.emplace(node.facts.id, std::move(words));
    }
  } walk(*this);
  index.visit(walk);
  if (walk.chains != chains_)
    disagree("the index has {} page chains, the model {}, or other pages", walk.chains.size(), chains_.size());

  for (std::size_t g = 0; g < reaches_.size(); ++g) {
    std::uint64_t resident = 0, needed = 0;
    for (const auto& [words, pages] : chains_) {
      if (pages[g] == 0) continue;
      resident += page_;
      if (is_held(words, g)) needed += page_;
    }
    const Sizes sizes = index.sizes(g);
    if (sizes.evictable + sizes.protected_ != resident)
      disagree("group {}: evictable {} + protected {}, but {} are resident", g, sizes.evictable, sizes.protected_,
               resident);
    if (sizes.protected_ != needed) disagree("group {}: protected {}, but locks hold {}", g, sizes.protected_, needed);
  }
}

}  // namespace canopy::test
