#pragma once

#include <canopy/base/sha256.h>
#include <canopy/kv_events/event.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Names of blocks. The digest of a block is computed from that of the block before it, so that it identifies the whole
/// prefix.
namespace canopy::kv_events {

struct Digest {
  Digest() = default;
  Digest(const Sha256& sha256) : bytes(sha256), size(sizeof sha256) {}
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), size}; }
  friend bool operator==(const Digest&, const Digest&) = default;

  Sha256 bytes{};
  std::uint8_t size = 0;  ///< Bytes in use. 0: nothing comes before the first block.
};

/// SGLang's chain (srt/mem_cache/utils.py): SHA-256 over the digest before and each token as 4 bytes, least significant
/// first. An event contains the first 8 bytes of the digest as a signed number. SGLang does not hash extra_key, so
/// equal prompts of two tenants have the same names.
class SglangChain {
 public:
  /// Returns the digest before the first block. `salt`: SGLang's cache_salt; empty: none, and an empty digest.
  static Digest root(std::string_view salt = {});
  /// Returns the digest of a block after the digest `before`. `block`: its tokens; with EAGLE both tokens of each pair.
  static Digest next(const Digest& before, std::span<const Token> block);
  static BlockHash name(const Digest& digest);
};

/// vLLM's chain with `--prefix-caching-hash-algo sha256_cbor` or `xxhash_cbor` (vllm/v1/core/kv_cache_utils.py): the
/// hash of the canonical CBOR of (digest before, tokens, extra keys). An event contains the last 8 bytes of the digest
/// as an unsigned number, or the digest. vLLM's default hashes a Python pickle, which no other program can reproduce.
class VllmChain {
 public:
  enum class Function { sha256_cbor, xxhash_cbor };
  explicit VllmChain(Function function) : function_(function) {}

  /// Returns the digest before the first block. `seed`: the server's PYTHONHASHSEED. Without that variable a server may
  /// choose its root at random.
  Digest root(std::string_view seed);
  /// Returns the digest of a block after the digest `before`. `extra_keys`: canonical CBOR of the block's extra keys
  /// (adapter, images, salt); f6 is None.
  Digest next(const Digest& before, std::span<const Token> block, std::string_view extra_keys = "\xf6");
  static BlockHash name(const Digest& digest);
  /// Returns the extra keys of the first block of a prefix with a salt, (("cache_salt", salt),), as in vLLM since 0.31.
  static std::string extra_keys_of(std::string_view salt);

 private:
  Digest hash(std::string_view cbor);
  Function function_;
  std::string cbor_;  ///< Scratch memory for the hashed block.
};

}  // namespace canopy::kv_events
