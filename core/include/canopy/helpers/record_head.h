#pragma once

#include <canopy/page_storage.h>

#include <array>
#include <cstddef>

namespace canopy {

/// The first bytes of each page's record. A storage may read them to recognise a record; the engine checks all of a
/// record in any case.
struct RecordHead {
  static constexpr std::array<char, 8> kMagic{'C', 'N', 'P', 'Y', 'P', 'A', 'G', 'E'};

  std::array<char, 8> magic{};
  std::array<std::byte, 24> more{};  ///< fields of the engine
  PageKey key, parent;               ///< keys of the page, and of the page before it or the space

  bool is_record() const { return magic == kMagic; }
};
static_assert(sizeof(RecordHead) == 96);

}  // namespace canopy
