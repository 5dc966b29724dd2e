#include <canopy/wire/hash_chain.h>
#include <xxhash.h>

// OpenSSL 3 would rather have EVP. A block is two rounds of SHA-256, and EVP's way around them takes a third as long
// again as they do: 168 to 219 ns for a page of 16 tokens where these functions take 123.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace canopy::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are hashed as they lie in memory");

/// The number that 8 bytes are, most significant first.
std::uint64_t number_at(const std::uint8_t* bytes) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | bytes[i];
  return number;
}

/// CBOR's head of a value (RFC 8949): the major type and a number in its shortest form.
void head(std::string& cbor, unsigned type, std::uint64_t number) {
  const auto first = [&](unsigned low) { cbor += static_cast<char>(type << 5 | low); };
  int bytes = 0;
  if (number < 24) first(static_cast<unsigned>(number));
  else if (number <= 0xFF) first(24), bytes = 1;
  else if (number <= 0xFFFF) first(25), bytes = 2;
  else if (number <= 0xFFFFFFFF) first(26), bytes = 4;
  else first(27), bytes = 8;
  while (bytes-- > 0) cbor += static_cast<char>(number >> (8 * bytes));
}
constexpr unsigned kNumber = 0, kBytes = 2, kText = 3, kArray = 4;

}  // namespace

Digest sha256(std::string_view first, std::string_view second) {
  Digest digest;
  static_assert(sizeof digest.bytes == SHA256_DIGEST_LENGTH);
  SHA256_CTX state;
  if (SHA256_Init(&state) != 1 || SHA256_Update(&state, first.data(), first.size()) != 1 ||
      SHA256_Update(&state, second.data(), second.size()) != 1 || SHA256_Final(digest.bytes.data(), &state) != 1)
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  digest.size = SHA256_DIGEST_LENGTH;
  return digest;
}

Digest SglangChain::root(std::string_view salt) {
  if (salt.empty()) return {};
  constexpr char kLabel[] = "sglang-cache-salt-v1";  // its final zero is hashed
  return sha256({kLabel, sizeof kLabel}, salt);
}

Digest SglangChain::next(const Digest& before, std::span<const Token> block) {
  return sha256(before.text(), {reinterpret_cast<const char*>(block.data()), block.size_bytes()});
}

BlockHash SglangChain::name(const Digest& digest) {
  return signed_hash(static_cast<std::int64_t>(number_at(digest.bytes.data())));
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

BlockHash VllmChain::name(const Digest& digest) {
  return {number_at(digest.bytes.data() + digest.size - 8), 0, 0, false};
}

}  // namespace canopy::wire
