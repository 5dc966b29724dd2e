#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention.h"

namespace canopy::examples {

/// Replaces a model: K, V and queries are drawn from a hash. As in a real model, they depend on a token and on all
/// tokens before it, so a page of another prompt is never correct by chance.
struct Model {
  std::uint32_t layers = 2, query_heads = 4, kv_heads = 2, head_dim = 32;
  Element element = Element::fp32;  ///< type of K and V

  enum class Row : std::uint32_t { key, value };
  std::uint32_t row_bytes() const { return kv_heads * head_dim * bytes_of(element); }
  /// Returns K or V of all these tokens from the `first` on, packed.
  std::vector<std::byte> rows(Row row, std::uint32_t layer, std::span<const Token> tokens, std::uint32_t first) const;
  /// Returns the query of the last token: [query head][element].
  std::vector<float> query(std::uint32_t layer, std::span<const Token> tokens) const;
  float scale() const;

  /// Returns attention of the last token by its definition: in fp64, first the weights, then the sums, without pages.
  std::vector<double> attention(std::uint32_t layer, std::span<const Token> tokens) const;
};

}  // namespace canopy::examples
