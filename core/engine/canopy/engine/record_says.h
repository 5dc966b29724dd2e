#pragma once

#include <canopy/page_storage.h>

#include <array>
#include <span>

namespace canopy {

/// What a page's record says of itself, to a reader that expects none in particular.
struct RecordSays {
  PageKey key;
  std::array<std::byte, 32> fingerprint{};
  const char* flaw = nullptr;  ///< why it is not what was sealed, a few words; null: it is
};

/// Compares a record with its own checksums. `record` may have bytes behind the record's end. Whatever the bytes are,
/// none outside of them is read.
RecordSays read_record(std::span<const std::byte> record);

}  // namespace canopy
