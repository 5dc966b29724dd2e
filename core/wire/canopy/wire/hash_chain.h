#pragma once

#include <canopy/wire/event.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The names that engines give to blocks. Each block's digest is made from the digest of the block before it, so that a
/// name stands for the whole prefix.
namespace canopy::wire {

/// A digest of up to 32 bytes; of none, where nothing comes before.
struct Digest {
  std::array<std::uint8_t, 32> bytes{};
  std::uint8_t size = 0;
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), size}; }
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// SHA-256 of one text and another behind it.
Digest sha256(std::string_view first, std::string_view second = {});

/// SGLang's chain (srt/mem_cache/utils.py): SHA-256 over the digest before and each token as 4 bytes, least significant
/// first. An event has the first 8 bytes of the digest as a signed number. SGLang does not hash extra_key, so that two
/// tenants with one prompt have the same names.
class SglangChain {
 public:
  /// What comes before the first block. The salt is SGLang's cache_salt; without one nothing comes before.
  Digest root(std::string_view salt = {});
  /// `block`: its tokens; under EAGLE both tokens of each pair.
  Digest next(const Digest& before, std::span<const Token> block);
  static BlockHash name(const Digest& digest);
};

/// vLLM's chain with `--prefix-caching-hash-algo sha256_cbor` or `xxhash_cbor` (vllm/v1/core/kv_cache_utils.py): the
/// hash of the canonical CBOR of (digest before, tokens, extra keys). An event has the last 8 bytes of the digest as an
/// unsigned number, or the digest. vLLM's default hashes a Python pickle, which no other program can repeat.
class VllmChain {
 public:
  enum class Function { sha256_cbor, xxhash_cbor };
  explicit VllmChain(Function function) : function_(function) {}

  /// `seed`: the server's PYTHONHASHSEED. Without that variable a server may choose its root at random.
  Digest root(std::string_view seed);
  /// `extra_keys`: canonical CBOR of the block's extra keys (adapter, images, salt); f6 is None.
  Digest next(const Digest& before, std::span<const Token> block, std::string_view extra_keys = "\xf6");
  static BlockHash name(const Digest& digest);

 private:
  Digest hash(std::string_view cbor);
  Function function_;
  std::string cbor_;  ///< of the block at hand; a member for its memory
};

}  // namespace canopy::wire
