#include "cost_model.h"

#include <algorithm>

namespace canopy {
namespace {

/// Upper bound of each product below: 12 days in microseconds.
constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;

}  // namespace

std::uint64_t RecomputeConfig::us(Units depth, Units count) const {
  // A prompt has at most 2^31 tokens, and the options have bounds: nothing here wraps.
  constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 31, kNano = 1'000, kPico = 1'000'000;
  const std::uint64_t n = std::min<std::uint64_t>(count, kMostTokens), d = std::min<std::uint64_t>(depth, kMostTokens);
  const std::uint64_t seen = n * (2 * d + n) / 2;  // pairs of a token and one before it
  const std::uint64_t us =
      n * ns_per_token / kNano + seen / kPico * ps_per_token_depth + seen % kPico * ps_per_token_depth / kPico;
  return std::min(us, kLongest);
}

void SeenRate::add(std::uint64_t bytes, std::uint64_t us) {
  constexpr std::uint64_t kWeight = 8;
  if (bytes == 0) return;
  const std::uint64_t seen = std::max<std::uint64_t>(std::min(us, kLongest) * kPiece / bytes, 1);
  piece_us_ = piece_us_ == 0 ? seen : (piece_us_ * (kWeight - 1) + seen) / kWeight;
}

}  // namespace canopy
