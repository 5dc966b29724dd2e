#pragma once

#include <cstddef>
#include <iterator>

namespace canopy::workload {

/// Counts the bytes read by the JSON reader. Its SAX events have no position, but error messages name columns.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at;
  std::size_t* read;
  reference operator*() const { return *at; }
  CountingIterator& operator++() { return ++at, ++*read, *this; }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

}  // namespace canopy::workload
