#pragma once

#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace canopy::python {

/// The memory of chunks. A chunk is a row, with one part in each column: the memory of vLLM's CPU tier is one column;
/// SGLang's has one for keys and one for values, or two for each layer.
class ChunkRows {
 public:
  /// Row r is the `bytes` bytes at base + r * step. The memory outlives its user.
  struct Column {
    std::byte* base = nullptr;
    std::size_t bytes = 0, step = 0;
  };
  ChunkRows() = default;
  ChunkRows(std::vector<Column> columns, std::size_t count)
      : columns_(std::move(columns)),
        count_(count),
        bytes_(std::accumulate(columns_.begin(), columns_.end(), std::size_t{0},
                               [](std::size_t sum, const Column& column) { return sum + column.bytes; })) {}

  std::size_t count() const { return count_; }
  /// Returns the bytes of a row.
  std::size_t bytes() const { return bytes_; }

  /// Copies a row to `to`, one column after the other. REQUIRES: row < count().
  void read(std::size_t row, std::byte* to) const {
    for (const Column& column : columns_) {
      std::memcpy(to, column.base + row * column.step, column.bytes);
      to += column.bytes;
    }
  }
  /// Copies to a row what read() copied from one. REQUIRES: row < count().
  void write(std::size_t row, const std::byte* from) const {
    for (const Column& column : columns_) {
      std::memcpy(column.base + row * column.step, from, column.bytes);
      from += column.bytes;
    }
  }

 private:
  std::vector<Column> columns_;
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace canopy::python
