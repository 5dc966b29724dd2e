#include <canopy/kv_events/in_order.h>

#include <algorithm>
#include <utility>

namespace canopy::kv_events {

InOrder::Taken InOrder::take(const Message& message, std::string_view payload, bool replays) {
  const std::uint64_t sequence = message.sequence;
  const bool restarts = is_restart(message);
  if (restarts) ++counts_.restarts, forget(message);
  if (is_known(sequence)) {
    // A replay begins with a known message, and its messages may also come live.
    counts_.repeated += !message.replayed && sequence >= replayed_end_;
    return {restarts ? Order::restart : Order::repeated, false};
  }
  const Order order = restarts               ? Order::restart
                      : !began_              ? Order::first
                      : sequence == highest_ ? Order::next
                      : sequence > highest_  ? Order::ahead
                                             : Order::late;
  newest_time_ = std::max(newest_time_, message.time);
  if (message.replayed) replayed_end_ = std::max(replayed_end_, sequence + 1);
  if (!began_ && replays && !message.replayed && sequence > 0) {
    hold(message, payload);
    return {order, false};
  }
  if (!began_) begin_at(sequence);
  note_gap(sequence);
  const bool is_due = sequence == next_ && (!reconnected_ || message.replayed);
  is_due ? applied(message) : hold(message, payload);
  return {order, is_due};
}

/// Returns true if the sequence of the message was used before, and its time shows that it is another message.
bool InOrder::is_restart(const Message& message) const {
  const bool known = is_known(message.sequence);
  const std::uint64_t end = began_ ? highest_ : held_.empty() ? 0 : held_.rbegin()->first;
  if (!known && message.sequence >= end) return false;
  if (message.time > newest_time_) return true;
  if (!began_ || !known) return false;
  const bool is_last = message.sequence + 1 == next_;
  if (message.replayed && is_last && message.time != last_time_) return true;
  return message.sequence == 0 && message.clears && zero_time_ && message.time != *zero_time_;
}

/// Begins at 0 again. Keeps held messages if only a replay shows the restart: they belong to the new run.
void InOrder::forget(const Message& message) {
  const bool keeps = message.replayed && message.time <= newest_time_;
  if (!keeps) held_.clear(), held_bytes_ = 0, newest_time_ = 0;
  began_ = true, incomplete_ = reconnected_ = false;
  next_ = highest_ = replayed_end_ = 0;
  for (const auto& [number, held] : held_) note_gap(number);
  zero_time_.reset();
}

void InOrder::begin_at(std::uint64_t sequence) {
  began_ = true;
  counts_.before += sequence;
  incomplete_ = sequence > 0;
  next_ = highest_ = sequence;
  // Live messages may have come before the first one of a replay.
  while (!held_.empty() && held_.begin()->first < sequence) {
    held_bytes_ -= held_.begin()->second.payload.size();
    held_.erase(held_.begin());
  }
  for (const auto& [number, held] : held_) note_gap(number);
}

/// Counts the missing messages before one that came for the first time.
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

void InOrder::hold(const Message& message, std::string_view payload) {
  held_bytes_ += payload.size();
  held_.emplace(message.sequence, Held{message, std::string(payload)});
  if (held_.size() >= kMostHeld || held_bytes_ >= kMostHeldBytes) give_up();
}

std::optional<InOrder::Held> InOrder::next_held() {
  const auto first = held_.begin();
  if (first == held_.end() || !began_ || reconnected_ || first->first != next_) return std::nullopt;
  Held held = std::move(first->second);
  held_.erase(first);
  held_bytes_ -= held.payload.size();
  applied(held.message);
  return held;
}

void InOrder::replay_ended(std::uint64_t from) {
  if (!reconnected_ && replay_from() > from) return;
  give_up();
}

void InOrder::give_up() {
  if (std::exchange(reconnected_, false) && began_) return;
  if (held_.empty()) return;
  const std::uint64_t first = held_.begin()->first;
  if (!began_) return begin_at(first);
  incomplete_ |= first != next_;
  next_ = first;
}

}  // namespace canopy::kv_events
