#pragma once

#include <canopy/page_storage.h>

#include <array>
#include <cstddef>

namespace canopy {

/// The first bytes of the record of a page. A storage may read them to recognize a record; the engine checks the whole
/// record in any case.
struct RecordHead {
  static constexpr std::array<char, 8> kMagic{'C', 'N', 'P', 'Y', 'P', 'A', 'G', 'E'};

  std::array<char, 8> magic{};
  std::array<std::byte, 24> more{};  ///< fields that only the engine reads
  PageKey key, parent;  ///< keys of the page and of the page before it; the key of the space if there is none

  bool is_record() const { return magic == kMagic; }
};
static_assert(sizeof(RecordHead) == 96);

}  // namespace canopy
