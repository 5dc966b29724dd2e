#include <canopy/plugin.h>

namespace {

/// The words of a key are its tokens. The codecs differ in how many tokens a unit looks ahead.
template <canopy::Units kOverlap>
class PlainCodec final : public canopy::KeyCodec {
 public:
  canopy::Units overlap() const override { return kOverlap; }
  std::span<const std::uint32_t> encode(std::span<const canopy::Token> tokens, canopy::Scratch&) const override {
    return tokens;
  }
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::KeyCodec, PlainCodec<0>>("token", "a unit is a token"),
              canopy::provide<canopy::KeyCodec, PlainCodec<1>>("bigram", "a unit is a token and the next one (EAGLE)"));
