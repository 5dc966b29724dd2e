#pragma once

#include <canopy/plugin.h>

#include <cstdint>
#include <span>

namespace canopy::test {

/// A codec whose words are not the tokens, so that an engine has to keep them. It counts the tokens that it was given.
class Flipped final : public KeyCodec {
 public:
  static inline std::uint64_t encoded = 0;
  Units overlap() const override { return 1; }
  std::span<const std::uint32_t> encode(std::span<const Token> tokens, Scratch& scratch) const override {
    encoded += tokens.size();
    const std::span<std::uint32_t> words = scratch.words(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) words[i] = ~tokens[i];
    return words;
  }
};
inline constexpr CanopyComponent kFlipped[] = {provide<KeyCodec, Flipped>("flipped", "each bit of a token, flipped")};

}  // namespace canopy::test
