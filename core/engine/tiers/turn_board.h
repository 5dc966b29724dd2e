#pragma once

#include <canopy/agreement.h>

#include <array>
#include <cstdint>
#include <string>

#include "tiers/call_end.h"

namespace canopy {

/// What the ranks tell each other in a turn, as the values of one exchange:
///
///   0     1; 0: this rank has stopped
///   1     the time that turn was told
///   2, 3  a digest of all that was decided before this turn, and its complement: if the least of both are not
///         complements, two digests differ
///   4 ..  how each call of a storage ended, 0 while it has not: four values for each of the first kSlots calls that
///         are on their way, for each kind of call. Calls beyond them are told in a later turn
///
/// Calls are made in the same order on all ranks, so a slot means the same call everywhere.
class TurnBoard {
 public:
  explicit TurnBoard(Agreement& agreement) : agreement_(agreement) {}

  /// Begins a turn: this rank's time, and the digest of what it has decided.
  void begin(std::uint64_t now_us, std::uint64_t digest);
  /// This rank has seen a call end. REQUIRES: lane < Agreement::kLanes, slot < Agreement::kSlots.
  void offer(std::size_t lane, std::size_t slot, const CallEnd& end);
  /// The exchange. False: the ranks do not agree, and why() says it. From then on what the others tell is not taken.
  bool exchange();

  // What was agreed, until the next turn begins:
  std::uint64_t now_us() const { return static_cast<std::uint64_t>(values_[kNow]); }
  CallEnd agreed(std::size_t lane, std::size_t slot) const;

  bool stopped() const { return !why_.empty(); }
  /// A sentence.
  const std::string& why() const { return why_; }

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
  std::string why_;
};

}  // namespace canopy
