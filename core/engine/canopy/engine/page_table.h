#pragma once

#include <canopy/engine/engine.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy {

/// The rows of a batch as attention kernels take them: int32, contiguous, one row a request, all rows as wide as
/// the longest, padded with 0 (page 0 and its slots have no owner). Keep one from step to step: it grows, and is
/// filled again without an allocation.
class PageTable {
 public:
  /// What an entry is: the number of a page, or of a token's slot (page x page size + place in the page).
  enum class Entry { page, slot };

  /// One row for each request: its Request::row of a group, gaps as 0. REQUIRES: no request has ended. False, and the
  /// table is empty, if a number does not fit int32: a pool of 2^31 slots wants a page table.
  bool fill(const Engine& engine, std::span<const Request* const> requests, Entry entry, std::size_t group = 0);

  std::span<const std::int32_t> entries() const { return entries_; }  ///< rows() x width(), row-major
  std::size_t rows() const { return rows_; }
  std::size_t width() const { return width_; }
  std::span<const std::int32_t> row(std::size_t i) const { return entries().subspan(i * width_, width_); }

 private:
  std::vector<std::int32_t> entries_;
  std::size_t rows_ = 0, width_ = 0;
};

}  // namespace canopy
