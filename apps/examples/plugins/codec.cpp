#include <canopy/plugin.h>

/// Makes the words of a key of tokens. Equal words mean equal rows in the pages: what changes a token's row must change
/// its word. Calls: canopy/key_codec.h.
class Example final : public canopy::KeyCodec {
 public:
  struct Config {
    canopy::Units overlap = 1;
    void visit(canopy::Options& o) {
      o.number("overlap", overlap, 0, 8, "tokens after its own on which a unit's row depends, as EAGLE's on one");
    }
  };
  explicit Example(const Config& config) : overlap_(config.overlap) {}

  canopy::Units overlap() const override { return overlap_; }

  std::span<const std::uint32_t> encode(std::span<const canopy::Token> tokens,
                                        canopy::Scratch& scratch) const override {
    const std::span<std::uint32_t> words = scratch.words(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) words[i] = tokens[i];  // or return `tokens` itself
    return words;
  }

 private:
  canopy::Units overlap_;
};

CANOPY_PLUGIN("0.1.0", canopy::provide<canopy::KeyCodec, Example>("example", "describe in one line what a unit is"));
