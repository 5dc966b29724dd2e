#pragma once

#include <canopy/agreement.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace canopy {

/// Ranks that are threads of one process agree here: an exchange waits until each of them has brought its values.
///
///   RankMeeting meeting(2);
///   // in the thread of rank 1:
///   auto engine = Engine::create(config, registry, nullptr, &meeting.of(1));
class RankMeeting {
 public:
  explicit RankMeeting(std::size_t ranks);
  RankMeeting(const RankMeeting&) = delete;

  /// For the engine of one rank. REQUIRES: rank < ranks.
  Agreement& of(std::size_t rank) { return ranks_[rank]; }
  /// A rank comes no more: exchanges fail from now on, and none waits. From any thread.
  void leave();
  /// Exchanges that all ranks were in. Each of them had Agreement::kValues values.
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
  Values least_{};  ///< of those that have come to this exchange
  Values told_{};   ///< of the last exchange: the next one ends when all ranks have read it and come back
  std::size_t came_ = 0;
  std::uint64_t exchanges_ = 0;
  bool left_ = false;
};

}  // namespace canopy
