#pragma once

#include <canopy/key_codec.h>

#include <memory>

#include "guard/guard.h"

namespace canopy {

/// A codec that gives a word for each token. Where it does not, the words are such that no other request has any of
/// them: nothing is reused, and nothing wrong.
class CodecGuard final : public KeyCodec, public Guard {
  static_assert(std::string_view(kInterface) == "canopy.KeyCodec/1", "hand on the new functions too");

 public:
  static constexpr Units kMostOverlap = 64;

  CodecGuard(std::shared_ptr<KeyCodec> codec, std::string component, Ledger& ledger)
      : Guard(std::move(component), ledger), codec_(std::move(codec)) {}

  Units overlap() const override {
    return ask("overlap", [&] { return codec_->overlap(); });
  }
  std::span<const std::uint32_t> encode(std::span<const Token> tokens, Scratch& scratch) const override {
    const auto words = ask("encode", [&] { return codec_->encode(tokens, scratch); });
    return words.size() == tokens.size() ? words : useless(words.size(), tokens.size(), scratch);
  }

 private:
  std::span<const std::uint32_t> useless(std::size_t got, std::size_t wanted, Scratch& scratch) const;

  std::shared_ptr<KeyCodec> codec_;
  mutable std::uint64_t made_ = 0;
};

}  // namespace canopy
