#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "address.h"
#include "resp_reader.h"

namespace canopy::redis {

/// Slots of a cluster, from the first to the last, and the server that owns them.
struct SlotRange {
  std::uint16_t first = 0, last = 0;
  Address owner;  ///< an empty host: the one that was asked
};

/// What CLUSTER SLOTS answers, element by element: a list of (first, last, owner, replica ...), where a server is
/// (host, port, ...). What does not fit is left out.
class SlotsReply {
 public:
  void clear();
  void take(const Element& element);
  /// REQUIRES: the last element was taken. Empty: the answer was no map.
  const std::vector<SlotRange>& ranges() const { return ranges_; }

 private:
  struct Level {
    std::int64_t left;      ///< elements that are still to come
    std::int64_t position;  ///< of the current one
  };
  void value(const Element& element);
  void close();

  std::array<Level, RespReader::kDeepest> levels_{};
  std::size_t depth_ = 0;
  SlotRange range_;
  std::int64_t first_ = -1, last_ = -1, port_ = -1;
  std::vector<SlotRange> ranges_;
};

}  // namespace canopy::redis
