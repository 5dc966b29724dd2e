#pragma once

#include <canopy/engine/agreement.h>
#include <canopy/page_storage.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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

/// Lets ranks that are threads of one process agree: an exchange waits until each of them has passed its values.
///
///   RankMeeting meeting(2);
///   // in the thread of rank 1:
///   auto engine = Engine::create(config, registry, nullptr, &meeting.of(1));
class RankMeeting {
 public:
  explicit RankMeeting(std::size_t ranks);
  RankMeeting(const RankMeeting&) = delete;

  /// Returns the agreement for the engine of one rank. REQUIRES: rank < ranks.
  Agreement& of(std::size_t rank) { return ranks_[rank]; }
  /// Removes a rank. All further exchanges fail immediately. May be called from any thread.
  void leave();
  /// Lets all ranks take part again. REQUIRES: none of them is in an exchange.
  void begin();
  /// Returns the number of exchanges that all ranks took part in. Each had Agreement::kValues values.
  std::uint64_t exchanges() const;

 private:
  class Rank final : public Agreement {
   public:
    explicit Rank(RankMeeting& meeting) : meeting_(meeting) {}
    const char* least(std::span<std::int64_t> values) override { return meeting_.bring(values); }

   private:
    RankMeeting& meeting_;
  };
  using Values = std::array<std::int64_t, Agreement::kValues>;

  const char* bring(std::span<std::int64_t> values);

  mutable std::mutex mutex_;
  std::condition_variable all_came_;
  std::vector<Rank> ranks_;
  Values least_{};   ///< minima over the ranks in the present exchange
  Values agreed_{};  ///< result of the last exchange; the next one ends after all ranks have read it and returned
  std::size_t came_ = 0;
  std::uint64_t exchanges_ = 0;
  bool left_ = false;
};

}  // namespace canopy
