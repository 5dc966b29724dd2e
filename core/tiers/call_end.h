#pragma once

#include <canopy/page_storage.h>

#include <cstdint>

namespace canopy {

/// Result of a storage call. Values are ordered so that the minimum over ranks is the worst result.
struct CallEnd {
  enum class How : std::uint8_t {
    open,  ///< it has not ended
    lost,  ///< it will never end
    failed,
    late,
    full,
    absent,
    done
  };
  How how = How::open;
  /// find: records found, or pages up to the boundary that they reach; get: valid records, from the first on; put:
  /// records kept
  std::uint32_t count = 0;
  std::uint32_t checked = 0;  ///< get: records that arrived; find_each: the complement of `count`
  std::uint32_t valid = 0;    ///< get: all its records except those that arrived damaged

  static How how_of(Fate fate) {
    switch (fate) {
      case Fate::done:
        return How::done;
      case Fate::absent:
        return How::absent;
      case Fate::full:
        return How::full;
      case Fate::late:
        return How::late;
      case Fate::failed:
        break;
    }
    return How::failed;
  }
};

}  // namespace canopy
