#include <canopy/engine/page_table.h>

#include <algorithm>
#include <limits>

namespace canopy {

bool PageTable::fill(const Engine& engine, std::span<const Request* const> requests, Entry entry, std::size_t group) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::size_t per_page = entry == Entry::page ? 1 : engine.page_size();
  std::size_t longest = 0;
  Page last = 0;
  for (const Request* request : requests) {
    const auto row = request->row(group);
    longest = std::max(longest, row.size());
    for (const Page page : row) last = std::max(last, page);
  }
  const bool fits = (std::uint64_t{last} + 1) * per_page - 1 <= kMost;
  const std::size_t rows = fits ? requests.size() : 0, width = fits ? longest * per_page : 0;
  rows_ = width_ = 0;  // it is empty if the system has no memory
  entries_.assign(rows * width, 0);
  rows_ = rows, width_ = width;
  for (std::size_t r = 0; r < rows_; ++r) {
    std::int32_t* out = entries_.data() + r * width_;
    for (const Page page : requests[r]->row(group))
      for (std::size_t i = 0; i < per_page; ++i) *out++ = page ? static_cast<std::int32_t>(page * per_page + i) : 0;
  }
  return fits;
}

}  // namespace canopy
