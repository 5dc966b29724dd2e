#pragma once

#include <canopy/engine/engine.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy {

/// The page rows of a batch in the form that attention kernels take: contiguous int32, one row per request, all rows as
/// wide as the longest, padded with 0 (page 0 and its slots have no owner). Use the same object in every step: fill()
/// then needs no new memory.
class PageTable {
 public:
  /// Content of an entry: a page number, or the slot of a token (page x page size + position in the page).
  enum class Entry { page, slot };

  /// Writes one row per request: its Request::row of a group, with 0 for gaps. Returns false, and leaves the table
  /// empty, if a number does not fit int32: a pool of 2^31 slots needs page entries. REQUIRES: no request has ended.
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
