#pragma once

#include <canopy/page_storage.h>

#include <cstdint>

namespace canopy {

/// What a call of a storage came to, in numbers of which the smaller one is the worse. So ranks that take the least of
/// each agree on the worst.
struct CallEnd {
  enum class How : std::uint8_t {
    open,  ///< it has not ended
    lost,  ///< it never will
    failed,
    late,
    full,
    absent,
    done
  };
  How how = How::open;
  std::uint32_t count = 0;    ///< records: found; got, and right, from the first on; kept
  std::uint32_t checked = 0;  ///< get: records that came
  std::uint32_t sound = 0;    ///< get: all its records but those that came and are not right

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
