#include <canopy/base/random.h>
#include <conformance/every.h>

#include <canopy/key_codec.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

struct OwnScratch final : Scratch {
  std::vector<std::uint32_t> room;
  std::span<std::uint32_t> words(std::size_t count) override {
    room.assign(count, 0xDEADBEEF);
    return room;
  }
};

std::vector<std::uint32_t> encode(const KeyCodec& codec, std::span<const Token> tokens) {
  OwnScratch scratch;
  const auto words = codec.encode(tokens, scratch);
  return {words.begin(), words.end()};
}

std::vector<Token> random_tokens(Random& prng, std::size_t count) {
  std::vector<Token> tokens(count);
  for (Token& token : tokens) token = prng.below(prng.one_in(2) ? 4 : 200'000);
  return tokens;
}

}  // namespace

// clang-format off
#define CODEC_CASE(title) CONTRACT(for_every<KeyCodec>, (const std::string&, const KeyCodec& codec), title)
// clang-format on

TEST_SUITE_BEGIN("KeyCodec");

CODEC_CASE("a codec makes one word for each token, and the same words each time") {
  Random prng(1);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 64U, 1'000U}) {
    const auto tokens = random_tokens(prng, count);
    const auto before = tokens;
    const auto words = encode(codec, tokens);
    CHECK(words.size() == count);
    CHECK(words == encode(codec, tokens));
    CHECK(tokens == before);
  }
}

CODEC_CASE("a token has the same word wherever a list begins: what a request has new is encoded alone") {
  Random prng(3);
  for (const std::size_t count : {1U, 2U, 64U, 1'000U}) {
    const auto tokens = random_tokens(prng, count);
    const auto words = encode(codec, tokens);
    const std::size_t from = prng.below(static_cast<std::uint32_t>(count));
    CHECK(encode(codec, std::vector(tokens.begin() + static_cast<std::ptrdiff_t>(from), tokens.end())) ==
          std::vector(words.begin() + static_cast<std::ptrdiff_t>(from), words.end()));
  }
}

CODEC_CASE("how far a codec's units look ahead never changes") {
  const Units overlap = codec.overlap();
  encode(codec, std::vector<Token>{1, 2, 3});
  CHECK(codec.overlap() == overlap);
}

CODEC_CASE("prompts that begin alike have keys that begin alike, up to where they differ and not beyond") {
  Random prng(2);
  for (int i = 0; i < 1'000; ++i) {
    auto one = random_tokens(prng, 1 + prng.below(40));
    auto other = one;
    const std::size_t at = prng.below(static_cast<std::uint32_t>(one.size()));
    other[at] += 1;
    const auto first = encode(codec, one), second = encode(codec, other);
    CHECK(std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(at), second.begin()));
    CHECK(first[at] != second[at]);
    other.resize(at);
    const auto shorter = encode(codec, other);
    CHECK(std::equal(shorter.begin(), shorter.end(), first.begin()));
  }
}

TEST_SUITE_END();
