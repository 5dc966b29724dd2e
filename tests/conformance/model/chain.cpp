#include "chain.h"

#include <canopy/base/random.h>

#include <bit>

namespace canopy::test {

PrefixName name_of(NamespaceId space) { return splitmix64(static_cast<std::uint64_t>(space) + 0x51'7CC1B727220A95u); }

PrefixName name_of(PrefixName before, std::span<const std::uint32_t> words) {
  std::uint64_t sum = before;
  for (const std::uint32_t word : words) sum = (std::rotl(sum, 23) ^ word) * 0x9FB21C651E98DF25u + 0x2545F491u;
  return splitmix64(sum);
}

Chain chain_of(const Key& key, Units page_size, Units overlap) {
  Chain chain;
  PrefixName name = name_of(key.space);
  for (std::size_t at = 0; at + page_size + overlap <= key.words.size(); at += page_size)
    chain.push_back(name = name_of(name, key.words.subspan(at, page_size + overlap)));
  return chain;
}

}  // namespace canopy::test
