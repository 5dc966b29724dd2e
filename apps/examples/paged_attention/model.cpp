#include "model.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace canopy::examples {
namespace {

constexpr std::uint32_t kQuery = 2;  ///< number of the query, after those of Model::Row

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t bits = (std::rotl(a, 23) ^ b) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9U;
  return bits ^ (bits >> 32);
}

/// Returns for each token a hash of it and all tokens before it.
std::vector<std::uint64_t> hashes(std::span<const Token> tokens) {
  std::vector<std::uint64_t> all;
  for (const Token token : tokens) all.push_back(mixed(all.empty() ? 1 : all.back(), token));
  return all;
}

/// Returns a number from -1 to 1, drawn from the hash.
float drawn(std::uint64_t hash, std::uint32_t what, std::uint32_t layer, std::uint32_t i) {
  const std::uint64_t bits = mixed(hash, mixed(what * 4096 + layer, i));
  return static_cast<float>(bits >> 40) * 0x1p-23F - 1;
}

}  // namespace

std::vector<std::byte> Model::rows(Row row, std::uint32_t layer, std::span<const Token> tokens,
                                   std::uint32_t first) const {
  const auto prefixes = hashes(tokens);
  const std::uint32_t width = bytes_of(element);
  std::vector<std::byte> packed((tokens.size() - first) * row_bytes());
  std::byte* to = packed.data();
  for (std::size_t token = first; token < tokens.size(); ++token)
    for (std::uint32_t i = 0; i < kv_heads * head_dim; ++i, to += width) {
      const auto bits = std::bit_cast<std::uint32_t>(drawn(prefixes[token], static_cast<std::uint32_t>(row), layer, i));
      const auto upper = static_cast<std::uint16_t>(bits >> 16);  // as bf16, rounded towards 0
      if (element == Element::fp32) std::memcpy(to, &bits, width);
      else std::memcpy(to, &upper, width);
    }
  return packed;
}

std::vector<float> Model::query(std::uint32_t layer, std::span<const Token> tokens) const {
  const std::uint64_t prefix = hashes(tokens).back();
  std::vector<float> query(std::size_t{query_heads} * head_dim);
  // Queries are four times as large as K, so that the weights differ and the result is not just the mean of V.
  for (std::uint32_t i = 0; i < query.size(); ++i) query[i] = 4 * drawn(prefix, kQuery, layer, i);
  return query;
}

float Model::scale() const { return 1 / std::sqrt(static_cast<float>(head_dim)); }

std::vector<double> Model::attention(std::uint32_t layer, std::span<const Token> tokens) const {
  const auto keys = rows(Row::key, layer, tokens, 0), values = rows(Row::value, layer, tokens, 0);
  const auto at = [&](const std::vector<std::byte>& packed, std::size_t token, std::uint32_t i) {
    return double{number_at(packed.data() + token * row_bytes(), i, element)};
  };
  const auto queries = query(layer, tokens);
  std::vector<double> output(queries.size());
  for (std::uint32_t head = 0; head < query_heads; ++head) {
    const std::uint32_t kv_start = head / (query_heads / kv_heads) * head_dim;
    std::vector<double> weights;
    for (std::size_t token = 0; token < tokens.size(); ++token) {
      double score = 0;
      for (std::uint32_t d = 0; d < head_dim; ++d)
        score += double{queries[head * head_dim + d]} * at(keys, token, kv_start + d);
      weights.push_back(score / std::sqrt(static_cast<double>(head_dim)));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double all = 0;
    for (double& weight : weights) all += weight = std::exp(weight - largest);
    for (std::uint32_t d = 0; d < head_dim; ++d)
      for (std::size_t token = 0; token < tokens.size(); ++token)
        output[head * head_dim + d] += weights[token] / all * at(values, token, kv_start + d);
  }
  return output;
}

}  // namespace canopy::examples
