#include <canopy/base/sha256.h>
#include <canopy/kv_events/hash_chain.h>
#include <canopy/kv_events/msgpack.h>
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace canopy::kv_events {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are hashed as they are in memory");

/// Appends the head of a CBOR value (RFC 8949): the major type, and a number in its shortest form.
void head(std::string& cbor, unsigned type, std::uint64_t number) {
  const unsigned bytes = number < 24 ? 0 : number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : number <= 0xFFFFFFFF ? 4 : 8;
  const unsigned low = bytes == 0 ? static_cast<unsigned>(number) : 24 + static_cast<unsigned>(std::countr_zero(bytes));
  cbor += static_cast<char>(type << 5 | low);
  append_big_endian(cbor, number, bytes);
}
constexpr unsigned kNumber = 0, kBytes = 2, kText = 3, kArray = 4;

}  // namespace

Digest SglangChain::root(std::string_view salt) {
  if (salt.empty()) return {};
  constexpr char kLabel[] = "sglang-cache-salt-v1";  // its final zero is hashed
  return sha256({kLabel, sizeof kLabel}, salt);
}

Digest SglangChain::next(const Digest& before, std::span<const Token> block) {
  return sha256(before.text(), {reinterpret_cast<const char*>(block.data()), block.size_bytes()});
}

BlockHash SglangChain::name(const Digest& digest) {
  return signed_hash(static_cast<std::int64_t>(big_endian(digest.text().substr(0, 8))));
}

Digest VllmChain::hash(std::string_view cbor) {
  if (function_ == Function::sha256_cbor) return sha256(cbor);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(cbor.data(), cbor.size()));
  Digest digest;
  digest.size = sizeof canonical.digest;
  std::memcpy(digest.bytes.data(), canonical.digest, sizeof canonical.digest);
  return digest;
}

Digest VllmChain::root(std::string_view seed) {
  cbor_.clear();
  head(cbor_, kText, seed.size());
  return hash(cbor_ += seed);
}

Digest VllmChain::next(const Digest& before, std::span<const Token> block, std::string_view extra_keys) {
  cbor_.clear();
  head(cbor_, kArray, 3);
  head(cbor_, kBytes, before.size);
  cbor_ += before.text();
  head(cbor_, kArray, block.size());
  for (const Token token : block) head(cbor_, kNumber, token);
  return hash(cbor_ += extra_keys);
}

std::string VllmChain::extra_keys_of(std::string_view salt) {
  constexpr std::string_view kName = "cache_salt";
  std::string cbor;
  head(cbor, kArray, 1), head(cbor, kArray, 2);
  head(cbor, kText, kName.size()), cbor += kName;
  head(cbor, kText, salt.size()), cbor += salt;
  return cbor;
}

BlockHash VllmChain::name(const Digest& digest) {
  return {big_endian(digest.text().substr(digest.size - 8u)), 0, 0, false};
}

}  // namespace canopy::kv_events
