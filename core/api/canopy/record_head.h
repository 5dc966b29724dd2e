#pragma once

#include <canopy/page_storage.h>

#include <array>
#include <cstddef>

namespace canopy {

/// What each page's record begins with, as it lies there. A storage may read it, to tell which record it has; the
/// engine checks all of a record in any case.
struct RecordHead {
  static constexpr std::array<char, 8> kMagic{'C', 'N', 'P', 'Y', 'P', 'A', 'G', 'E'};

  std::array<char, 8> magic{};
  std::array<std::byte, 24> more{};  ///< the engine's
  PageKey key, parent;               ///< of the page, and of the page before it or the space

  bool is_record() const { return magic == kMagic; }
};
static_assert(sizeof(RecordHead) == 96);

}  // namespace canopy
