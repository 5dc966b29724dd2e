#pragma once

#include <canopy/page_storage.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "page_keys.h"

namespace canopy {

/// Bytes before each image of a record. The image is aligned as O_DIRECT and network cards require.
inline constexpr std::uint64_t kRecordHeader = 4096;
/// Most words in a header. For a longer page it has the first ones; the key covers all.
inline constexpr std::size_t kRecordWords = 960;

/// Facts in the header of a page's record.
struct RecordFacts {
  PageKey key, parent;  ///< parent: key of the page before, or the space
  Fingerprint fingerprint{};
  std::uint32_t group = 0;
  Units begin = 0;                       ///< depth at which the page begins
  std::span<const std::uint32_t> words;  ///< words of the page, and the overlap behind it
  std::uint64_t image_bytes = 0;
};

/// Writes the header of a record whose image is complete. REQUIRES: `record` has kRecordHeader and image_bytes bytes.
void seal_record(std::byte* record, const RecordFacts& facts);

/// Returns a short error message if a record is not the expected one, else null. Never reads outside the record,
/// whatever its bytes are. REQUIRES: as for seal_record.
const char* flaw_of_record(const std::byte* record, const RecordFacts& expected);

}  // namespace canopy
