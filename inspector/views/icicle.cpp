#include "icicle.h"

#include <algorithm>

namespace canopy::inspector {

void lay_out(const TreeIndex& tree, const IcicleWindow& window, std::vector<IcicleCell>& cells) {
  cells.clear();
  if (window.right <= window.left || window.width <= 0) return;
  const double scale = window.width / (window.right - window.left);
  const auto x_of = [&](std::uint64_t token) { return (static_cast<double>(token) - window.left) * scale; };
  const auto pixel = [&](double x) {
    return static_cast<float>(std::clamp(x, 0.0, static_cast<double>(window.width)));
  };

  for (std::size_t row = 0; row < window.rows && window.top + row < tree.levels(); ++row) {
    const std::size_t end = tree.end(window.top + row);
    /// Returns the first place from `from` on whose node ends (or begins) right of a pixel.
    const auto first_after = [&](std::size_t from, double x, bool by_end) {
      std::size_t low = from, high = end;
      while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (x_of(by_end ? tree[middle].end() : tree[middle].start) > x) high = middle;
        else low = middle + 1;
      }
      return low;
    };
    std::size_t at = first_after(tree.begin(window.top + row), 0, true);
    while (at < end) {
      const double x0 = x_of(tree[at].start), x1 = x_of(tree[at].end());
      if (x0 >= window.width) break;
      std::size_t next = at + 1;
      double right = x1;
      if (x1 - x0 < kLeastNode) {
        // Takes all nodes that begin within a strip's width; the last of them may be wide enough for a cell of its own.
        next = first_after(at, std::max(x0, 0.0) + kStrip, false);
        if (next - at > 1 && x_of(tree[next - 1].end()) - x_of(tree[next - 1].start) >= kLeastNode) --next;
        right = std::max(x_of(tree[next - 1].end()), x0 + 1);
      }
      cells.push_back({pixel(x0), pixel(right), static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(at),
                       static_cast<std::uint32_t>(next - at)});
      at = next;
    }
  }
}

const IcicleCell* cell_at(const std::vector<IcicleCell>& cells, float x, std::uint32_t row) {
  auto found = std::upper_bound(cells.begin(), cells.end(), std::pair(row, x), [](const auto& point, const auto& cell) {
    return std::pair(point.first, point.second) < std::pair(cell.row, cell.x0);
  });
  if (found == cells.begin()) return nullptr;
  --found;
  return found->row == row && x < found->x1 ? &*found : nullptr;
}

}  // namespace canopy::inspector
