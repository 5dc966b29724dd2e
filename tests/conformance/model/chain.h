#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy::test {

/// Identifies a namespace and all the words up to the end of one page in 64 bits. A collision would need about 2^32
/// pages alive at once.
using PrefixName = std::uint64_t;

/// A key cut down to whole pages: one name per page; name i covers pages 0..i.
using Chain = std::vector<PrefixName>;
using ChainView = std::span<const PrefixName>;

PrefixName name_of(NamespaceId space);
/// Returns the name of a page. `words`: the words of the page, including the `overlap` words of look-ahead.
PrefixName name_of(PrefixName before, std::span<const std::uint32_t> words);

Chain chain_of(const Key& key, Units page_size, Units overlap);

}  // namespace canopy::test
