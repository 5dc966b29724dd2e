#pragma once

#include <canopy/page_storage.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiers/page_keys.h"

namespace canopy {

/// Bytes in front of each image of a record. The image begins on a boundary that O_DIRECT and network cards want.
inline constexpr std::uint64_t kRecordHeader = 4096;
/// Words that a header has room for. Of a longer page it has the first ones; the key is made from all.
inline constexpr std::size_t kRecordWords = 960;

/// What a page's record says of itself.
struct RecordFacts {
  PageKey key, parent;  ///< parent: the key of the page before, or the space
  Fingerprint fingerprint{};
  std::uint32_t group = 0;
  Units begin = 0;                       ///< depth at which the page begins
  std::span<const std::uint32_t> words;  ///< of the page, and the overlap behind it
  std::uint64_t image_bytes = 0;
};

/// Writes the header of a record whose image is there. REQUIRES: `record` has kRecordHeader and image_bytes bytes.
void seal_record(std::byte* record, const RecordFacts& facts);

/// What keeps a record from being the one that is expected, a few words; null if nothing does. Whatever the bytes are,
/// none outside of the record is read. REQUIRES: as for seal_record.
const char* flaw_of_record(const std::byte* record, const RecordFacts& expected);

}  // namespace canopy
