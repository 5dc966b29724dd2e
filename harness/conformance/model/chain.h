#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy::test {

/// Names a namespace and all the words from the start to the end of one page: 64 bits instead of the words.
/// Two equal names with different words would need about 2^32 pages alive at once.
using PrefixName = std::uint64_t;

/// A key cut down to whole pages: one name per page, the i-th names pages 0..i.
using Chain = std::vector<PrefixName>;
using ChainView = std::span<const PrefixName>;

PrefixName name_of(NamespaceId space);
/// `words`: those of one page, the `overlap` words it looks ahead included.
PrefixName name_of(PrefixName before, std::span<const std::uint32_t> words);

Chain chain_of(const Key& key, Units page_size, Units overlap);

}  // namespace canopy::test
