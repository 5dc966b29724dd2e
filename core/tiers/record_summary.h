#pragma once

#include <canopy/page_storage.h>

#include <array>
#include <span>

namespace canopy {

/// Facts in the header of a page's record, for readers that expect no particular page.
struct RecordSummary {
  PageKey key;
  std::array<std::byte, 32> fingerprint{};
  const char* flaw = nullptr;  ///< short error message if it was changed since it was sealed, else null
};

/// Checks a record against its own checksums. `record` may be followed by other bytes. Never reads outside it.
RecordSummary read_record(std::span<const std::byte> record);

}  // namespace canopy
