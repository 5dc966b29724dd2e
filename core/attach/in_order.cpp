#include <canopy/attach/in_order.h>

#include <algorithm>
#include <utility>

namespace canopy::attach {

InOrder::Verdict InOrder::see(const Message& message, bool replays) {
  const bool is_known = (began_ && message.sequence < next_) || held_.contains(message.sequence);
  if (is_restart(message, is_known)) {
    ++counts_.restarts;
    forget(message);
    return Verdict::restart;
  }
  if (is_known) {
    // A replay begins with what is known, and what it brings may come live as well.
    counts_.repeated += !message.replayed && message.sequence >= replayed_end_;
    return Verdict::drop;
  }
  newest_time_ = std::max(newest_time_, message.time);
  if (message.replayed) replayed_end_ = std::max(replayed_end_, message.sequence + 1);
  if (!began_) {
    if (replays && !message.replayed && message.sequence > 0) return Verdict::hold;
    begin_at(message.sequence);
  }
  note_gap(message.sequence);
  if (message.sequence != next_ || (doubted_ && !message.replayed)) return Verdict::hold;
  applied(message);
  return Verdict::apply;
}

/// Its number was used before, and its time says that it is not the same message.
bool InOrder::is_restart(const Message& message, bool is_known) const {
  const std::uint64_t end = began_ ? highest_ : held_.empty() ? 0 : held_.rbegin()->first;
  const bool is_below = is_known || message.sequence < end;
  if (!is_below) return false;
  if (message.time > newest_time_) return true;
  if (!began_ || !is_known) return false;
  const bool is_last = message.sequence + 1 == next_;
  if (message.replayed && is_last && message.time != last_time_) return true;
  return message.sequence == 0 && message.clears && zero_time_ && message.time != *zero_time_;
}

/// The publisher begins at 0 again. What a replay shows to be another run's stays: it is the new run's.
void InOrder::forget(const Message& message) {
  const bool keeps = message.replayed && message.time <= newest_time_;
  if (!keeps) held_.clear(), held_bytes_ = 0, newest_time_ = 0;
  began_ = true, incomplete_ = doubted_ = false;
  next_ = highest_ = replayed_end_ = 0;
  zero_time_.reset();
}

void InOrder::begin_at(std::uint64_t sequence) {
  began_ = true;
  counts_.before += sequence;
  incomplete_ = sequence > 0;
  next_ = highest_ = sequence;
  // Live messages may have come before the first of a replay.
  while (!held_.empty() && held_.begin()->first < sequence) {
    held_bytes_ -= held_.begin()->second.payload.size();
    held_.erase(held_.begin());
  }
  for (const auto& [number, held] : held_) note_gap(number);
}

/// Counts what is missing below a message that came for the first time.
void InOrder::note_gap(std::uint64_t sequence) {
  if (sequence >= highest_) {
    if (sequence > highest_) ++counts_.gaps, counts_.missing += sequence - highest_;
    highest_ = sequence + 1;
  } else if (counts_.missing > 0) {
    --counts_.missing, ++counts_.repaired;
  }
}

void InOrder::applied(const Message& message) {
  if (message.sequence == 0) zero_time_ = message.time;
  next_ = message.sequence + 1;
  last_time_ = message.time;
}

void InOrder::keep(const Message& message, std::string_view payload) {
  held_bytes_ += payload.size();
  held_.emplace(message.sequence, Held{message, std::string(payload)});
}

std::optional<InOrder::Held> InOrder::next_held() {
  const auto first = held_.begin();
  if (first == held_.end() || !began_ || doubted_ || first->first != next_) return std::nullopt;
  Held held = std::move(first->second);
  held_.erase(first);
  held_bytes_ -= held.payload.size();
  applied(held.message);
  return held;
}

void InOrder::replay_ended(std::uint64_t from) {
  if (!doubted_ && replay_from() > from) return;
  give_up();
}

void InOrder::give_up() {
  if (std::exchange(doubted_, false) && began_) return;
  if (held_.empty()) return;
  const std::uint64_t first = held_.begin()->first;
  if (!began_) return begin_at(first);
  incomplete_ |= first != next_;
  next_ = first;
}

}  // namespace canopy::attach
