#pragma once

#include <canopy/engine/agreement.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace canopy {

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
