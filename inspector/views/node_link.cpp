#include "node_link.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace canopy::inspector {
namespace {

class NodeLinkLayout {
 public:
  NodeLinkLayout(const TreeIndex& tree, std::span<const std::uint32_t> path, std::vector<NodeLinkItem>& items)
      : tree_(tree), path_(path), items_(items) {}

  void run(const NodeLinkWindow& window) {
    if (window.rows == 0 || tree_.levels() == 0) return;
    if (window.focus == TreeIndex::kNowhere) {
      below(NodeLinkItem::kNone, tree_.roots(), 0, 0, window.rows);
    } else {
      add(NodeLinkItem::kNone, window.focus, 0, 0, std::min(window.rows, tree_.leaves(window.focus)));
    }
    while (!open_.empty()) {
      const std::uint32_t at = open_.back();
      open_.pop_back();
      const NodeLinkItem item = items_[at];
      below(at, tree_.children(item.place), item.column + 1, item.row, item.rows);
    }
  }

 private:
  void add(std::uint32_t parent, std::uint32_t place, std::uint32_t column, std::uint32_t row, std::uint32_t rows) {
    open_.push_back(static_cast<std::uint32_t>(items_.size()));
    items_.push_back({parent, place, 0, column, row, rows, tree_.mix(place, 1)});
  }

  void below(std::uint32_t parent, TreeIndex::Range range, std::uint32_t column, std::uint32_t row,
             std::uint32_t rows) {
    if (range.count == 0) return;
    if (column >= kMostColumns) return bundle(parent, range, {}, column, row);
    const bool all = range.count <= rows;
    std::vector<std::uint32_t> shown;
    if (all) {
      shown.resize(range.count);
      std::iota(shown.begin(), shown.end(), range.first);
    } else {
      shown = choose(range, --rows);
    }
    const std::vector<std::uint32_t> shares = share(shown, rows);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      add(parent, shown[i], column, row, shares[i]);
      row += shares[i];
    }
    if (!all) bundle(parent, range, shown, column, row);
  }

  /// Returns the heaviest places and the one on the path, in their order. They take half of the rows, so that something
  /// below them is visible too, and more if rows would otherwise stay empty.
  std::vector<std::uint32_t> choose(TreeIndex::Range range, std::uint32_t rows) const {
    std::vector<std::uint32_t> chosen = tree_.heaviest(range, rows);
    std::sort(chosen.begin(), chosen.end(), [&](std::uint32_t a, std::uint32_t b) {
      return tree_[a].tokens != tree_[b].tokens ? tree_[a].tokens > tree_[b].tokens : a < b;
    });
    std::size_t kept = 0;
    for (std::uint64_t wanted = 0; kept < chosen.size() && (kept < (rows + 1) / 2 || wanted < rows); ++kept)
      wanted += tree_.leaves(chosen[kept]);
    chosen.resize(kept);
    // The path has at most one place on each level, and a deeper place has a greater number.
    const auto on_path = std::lower_bound(path_.begin(), path_.end(), range.first + range.count - 1, std::greater<>());
    if (!chosen.empty() && on_path != path_.end() && *on_path >= range.first &&
        std::find(chosen.begin(), chosen.end(), *on_path) == chosen.end())
      chosen.back() = *on_path;
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  void bundle(std::uint32_t parent, TreeIndex::Range range, const std::vector<std::uint32_t>& chosen,
              std::uint32_t column, std::uint32_t row) {
    TreeIndex::Mix mix = tree_.mix(range.first, range.count);
    std::uint32_t sample = range.first;
    for (const std::uint32_t place : chosen) {
      mix -= tree_.mix(place, 1);
      sample += place == sample;
    }
    items_.push_back({parent, sample, range.count - static_cast<std::uint32_t>(chosen.size()), column, row, 1, mix});
  }

  /// Returns the number of rows of each place: one, and of the remaining rows a share by its tokens, but at most as
  /// many as it has leaves.
  std::vector<std::uint32_t> share(const std::vector<std::uint32_t>& places, std::uint32_t rows) const {
    std::vector<std::uint32_t> shares(places.size(), 1), order(places.size());
    std::iota(order.begin(), order.end(), 0U);
    // Places that need the fewest rows for their tokens come first: the rows that they do not need go to the others.
    const auto wish = [&](std::uint32_t i) {
      return static_cast<double>(tree_.leaves(places[i]) - 1) /
             static_cast<double>(std::max<std::uint64_t>(tree_[places[i]].tokens, 1));
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return std::pair(wish(a), a) < std::pair(wish(b), b); });
    std::uint64_t tokens = 0;
    for (const std::uint32_t place : places) tokens += tree_[place].tokens;
    auto left = rows - static_cast<std::uint32_t>(places.size());
    for (const std::uint32_t i : order) {
      const std::uint64_t own = tree_[places[i]].tokens;
      const double part = tokens == 0 ? 1 : static_cast<double>(own) / static_cast<double>(tokens);
      const auto more =
          std::min({tree_.leaves(places[i]) - 1, left, static_cast<std::uint32_t>(std::lround(part * left))});
      shares[i] += more;
      left -= more;
      tokens -= own;
    }
    return shares;
  }

  const TreeIndex& tree_;
  std::span<const std::uint32_t> path_;
  std::vector<NodeLinkItem>& items_;
  std::vector<std::uint32_t> open_;
};

}  // namespace

void lay_out(const TreeIndex& tree, const NodeLinkWindow& window, std::vector<NodeLinkItem>& items) {
  items.clear();
  NodeLinkLayout(tree, window.path, items).run(window);
}

}  // namespace canopy::inspector
