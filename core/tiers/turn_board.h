#pragma once

#include <canopy/engine/agreement.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "call_end.h"

namespace canopy {

/// The values that ranks exchange in a turn:
///
///   0     1; 0 if this rank has stopped
///   1     the time passed to turn()
///   2, 3  a digest of all decisions before this turn, and its complement: if the minima are not complements,
///         two digests differ
///   4 ..  the results of storage calls, 0 while pending: four values for each of the first kSlots pending calls of
///         each kind. Further calls follow in a later turn
///
/// Calls are made in the same order on all ranks, so a slot means the same call everywhere.
class TurnBoard {
 public:
  explicit TurnBoard(Agreement& agreement) : agreement_(agreement) {}

  /// Begins a turn with this rank's time, and the digest of its decisions.
  void begin(std::uint64_t now_us, std::uint64_t digest);
  /// Records that a call has ended on this rank. REQUIRES: lane < Agreement::kLanes, slot < Agreement::kSlots.
  void offer(std::size_t lane, std::size_t slot, const CallEnd& end);
  /// Makes the exchange. Returns false if the ranks disagree; see why(). Values from other ranks are ignored from then
  /// on. Without memory for an error message they count as having disagreed.
  bool exchange() noexcept;

  // Results of the exchange, valid until the next turn begins:
  std::uint64_t now_us() const { return static_cast<std::uint64_t>(values_[kNow]); }
  CallEnd agreed(std::size_t lane, std::size_t slot) const;

  bool stopped() const { return stopped_; }
  /// Returns an error message.
  std::string_view why() const {
    return why_.empty() ? "ranks: a turn had no memory for the exchange" : std::string_view(why_);
  }

 private:
  enum Place : std::size_t { kGoesOn, kNow, kDigest, kComplement, kFirstSlot };
  static std::size_t at(std::size_t lane, std::size_t slot) {
    return kFirstSlot + (lane * Agreement::kSlots + slot) * Agreement::kSlotValues;
  }
  std::string ask();
  std::string flaw() const;

  Agreement& agreement_;
  std::array<std::int64_t, Agreement::kValues> mine_{}, values_{};
  std::uint64_t turns_ = 0;
  bool unreachable_ = false;  ///< the exchange itself failed
  bool stopped_ = false;
  std::string why_;
};

}  // namespace canopy
