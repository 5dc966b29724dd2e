#include "ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>

namespace canopy {

void TurnBoard::begin(std::uint64_t now_us, std::uint64_t digest) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  ++turns_;
  mine_.fill(0);
  mine_[kGoesOn] = stopped() ? 0 : 1;
  mine_[kNow] = static_cast<std::int64_t>(std::min(now_us, kMost));
  mine_[kDigest] = static_cast<std::int64_t>(digest);
  mine_[kComplement] = static_cast<std::int64_t>(~digest);
}

void TurnBoard::offer(std::size_t lane, std::size_t slot, const CallEnd& end) {
  std::int64_t* const place = &mine_[at(lane, slot)];
  place[0] = static_cast<std::int64_t>(end.how);
  place[1] = end.count;
  place[2] = end.checked;
  place[3] = end.valid;
}

CallEnd TurnBoard::agreed(std::size_t lane, std::size_t slot) const {
  const std::int64_t* const place = &values_[at(lane, slot)];
  return {static_cast<CallEnd::How>(place[0]), static_cast<std::uint32_t>(place[1]),
          static_cast<std::uint32_t>(place[2]), static_cast<std::uint32_t>(place[3])};
}

bool TurnBoard::exchange() noexcept try {
  if (unreachable_) return false;
  values_ = mine_;
  std::string why = ask();
  if (stopped()) return false;  // the exchange was made all the same, so that no other rank waits for this one
  if (why.empty()) why = flaw();
  if (why.empty()) return true;
  stopped_ = true;
  why_ = fmt::format("ranks: in turn {} {}; from now on nothing moves between the tiers of this engine", turns_, why);
  return false;
} catch (const std::bad_alloc&) {
  stopped_ = true;
  return false;
}

/// Makes the exchange. Returns an error message if it failed.
std::string TurnBoard::ask() {
  std::string failed;
  unreachable_ = true;  // before a message needs memory
  try {
    if (const char* const why = agreement_.least(values_)) failed = why;
    else return unreachable_ = false, std::string();
  } catch (const std::exception& thrown) {
    failed = fmt::format("it threw: {}", thrown.what());
  } catch (...) {
    failed = "it threw";
  }
  return fmt::format("there was no agreement: {}", failed);
}

/// Returns an error message about an invalid result. The result is checked, since this rank's own values bound the
/// minimum.
std::string TurnBoard::flaw() const {
  for (std::size_t i = 0; i < Agreement::kValues; ++i)
    if (values_[i] > mine_[i] || (i != kDigest && i != kComplement && values_[i] < 0))
      return fmt::format("value {} of the agreement is {} where this rank gave {}; expected the least of all ranks", i,
                         values_[i], mine_[i]);
  if (values_[kGoesOn] == 0) return "another rank had stopped";
  if (values_[kDigest] != ~values_[kComplement])
    return "the engines of two ranks had decided differently: their calls, their components or their settings differ";
  return {};
}

RankMeeting::RankMeeting(std::size_t ranks) : ranks_(ranks, Rank(*this)) {}

const char* RankMeeting::bring(std::span<std::int64_t> values) {
  if (values.size() != Agreement::kValues) return "an exchange had another number of values";
  std::unique_lock lock(mutex_);
  if (left_) return "a rank has left";
  for (std::size_t i = 0; i < values.size(); ++i) least_[i] = came_ == 0 ? values[i] : std::min(least_[i], values[i]);
  if (++came_ == ranks_.size()) {
    agreed_ = least_;
    came_ = 0;
    ++exchanges_;
    all_came_.notify_all();
  } else {
    const std::uint64_t before = exchanges_;
    all_came_.wait(lock, [&] { return left_ || exchanges_ != before; });
    if (exchanges_ == before) return "a rank has left";
  }
  std::ranges::copy(agreed_, values.begin());
  return nullptr;
}

void RankMeeting::leave() {
  const std::scoped_lock lock(mutex_);
  left_ = true;
  all_came_.notify_all();
}

void RankMeeting::begin() {
  const std::scoped_lock lock(mutex_);
  left_ = false;
  came_ = 0;
}

std::uint64_t RankMeeting::exchanges() const {
  const std::scoped_lock lock(mutex_);
  return exchanges_;
}

}  // namespace canopy
