#include <canopy/plugin.h>

namespace {

/// Every token is a word, and a unit.
class TokenCodec final : public canopy::KeyCodec {
 public:
  canopy::Units overlap() const override { return 0; }
  std::span<const std::uint32_t> encode(std::span<const canopy::Token> tokens, canopy::Scratch&) const override {
    return tokens;
  }
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::KeyCodec, TokenCodec>("token", "a unit is a token"));
