#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "address.h"
#include "resp_reader.h"

namespace canopy::redis {

/// A range of a cluster's slots, first to last, and the server that owns them.
struct SlotRange {
  std::uint16_t first = 0, last = 0;
  Address owner;  ///< an empty host means the server that sent the reply
};

/// Reads the reply to CLUSTER SLOTS, element by element: a list of (first, last, owner, replica ...), where a server is
/// (host, port, ...). Skips elements that do not fit.
class SlotsReply {
 public:
  void clear();
  void take(const Element& element);
  /// Returns the ranges; empty if the reply was not a map. REQUIRES: the last element was taken.
  const std::vector<SlotRange>& ranges() const { return ranges_; }

 private:
  struct Level {
    std::int64_t left;      ///< elements still missing
    std::int64_t position;  ///< position of the current element
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
