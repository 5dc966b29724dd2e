#pragma once

#include "random.h"

#include <canopy/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace canopy::workload {

/// Size of the synthetic vocabulary, that of a common tokenizer; recorded results depend on it.
inline constexpr std::uint64_t kVocabulary = 128'000;

/// Longest prompt: twice the longest context window of a model so far.
inline constexpr std::uint64_t kMaxPromptTokens = 20'000'000;
/// Most tokens per id of a trace.
inline constexpr std::uint64_t kMaxTraceBlock = 65'536;
/// Least bytes that a replay keeps per prompt token during its request: prompt, request, index, expected bytes.
inline constexpr std::uint64_t kPromptTokenBytes = 40;

inline bool is_one_of(std::string_view name, std::initializer_list<const char*> names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr Token token_at(std::uint64_t place) { return static_cast<Token>(splitmix64(place) % kVocabulary); }

/// Writes tokens `first`, `first + 1`, ... of a text. A text is any 64-bit number, its token i is
/// token_at(text + i), so a text is repeated without being stored.
inline void write_text(std::uint64_t text, Token* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = token_at(text + i);
}

inline void append_text(std::vector<Token>& prompt, std::uint64_t text, std::size_t count) {
  const std::size_t had = prompt.size();
  prompt.resize(had + count);
  write_text(text, prompt.data() + had, count);
}

}  // namespace canopy::workload
