#include "top_prefixes.h"

#include <algorithm>

namespace canopy::inspector {

void TopPrefixes::add(const PrefixFigure& figure) {
  const auto known =
      std::find(lineages_.begin(), lineages_.begin() + static_cast<std::ptrdiff_t>(size_), figure.lineage);
  auto at = static_cast<std::size_t>(known - lineages_.begin());
  std::uint64_t over = 0;
  PrefixFigure before;
  if (at < size_) {
    before = figures_[at];
  } else if (size_ < kMost) {
    at = size_++;
  } else {
    const auto least = std::min_element(figures_.begin(), figures_.end(),
                                        [](const auto& a, const auto& b) { return a.tokens < b.tokens; });
    at = static_cast<std::size_t>(least - figures_.begin());
    over = least->tokens;
  }
  lineages_[at] = figure.lineage;
  figures_[at] = figure;
  figures_[at].times += before.times;
  figures_[at].tokens += before.tokens + over;
  figures_[at].over += before.over + over;
}

}  // namespace canopy::inspector
