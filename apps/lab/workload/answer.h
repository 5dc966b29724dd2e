#pragma once

#include "text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace canopy::workload {

/// A workload has no model, but the next turn of a chat begins with the model's answer. So an answer is a function of
/// the prompt only: its token i is answer_token(prompt_hash(prompt), i). The generator writes it into the next turn,
/// and a replay inserts it as the output of this one, independently of each other. A trace that has the tokens of its
/// answers is replayed with those. In any other trace these answers do not occur: no later prompt finds them.

/// Returns the hash of a prompt. Four lanes of two tokens each, because one chain of multiplications would cost more
/// than the expansion of a trace. Defined on token values, not on their bytes: the same on every machine.
inline std::uint64_t prompt_hash(std::span<const Token> prompt) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
  constexpr std::size_t kLanes = 4;
  std::array<std::uint64_t, kLanes> lanes = {splitmix64(1), splitmix64(2), splitmix64(3), splitmix64(4)};
  const auto absorb = [](std::uint64_t lane, std::uint64_t word) {
    lane = (lane ^ word) * kFactor;
    return lane ^ (lane >> 29);
  };
  const std::size_t whole = prompt.size() / (2 * kLanes) * (2 * kLanes);
  for (std::size_t i = 0; i < whole; i += 2 * kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t low = prompt[i + 2 * lane], high = prompt[i + 2 * lane + 1];
      lanes[lane] = absorb(lanes[lane], low | high << 32);
    }
  }
  for (const Token token : prompt.subspan(whole)) lanes[0] = absorb(lanes[0], token);
  std::uint64_t hash = splitmix64(prompt.size());
  for (const std::uint64_t lane : lanes) hash = splitmix64(hash ^ lane);
  return hash;
}

constexpr Token answer_token(std::uint64_t prompt_hash, std::uint32_t i) { return token_at(prompt_hash + i); }

/// Appends the model's answer: `conversation` is a prompt before and prompt + answer after.
inline void append_answer(std::vector<Token>& conversation, std::uint32_t output_tokens) {
  append_text(conversation, prompt_hash(conversation), output_tokens);
}

}  // namespace canopy::workload
