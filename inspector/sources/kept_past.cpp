#include "kept_past.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {

void KeptPast::forget() {
  parts_.clear();
  near_.reset();
  copied_bytes_ = event_bytes_ = 0;
}

void KeptPast::lost() {
  forget();
  whole_ = true, skipping_ = false;
}

void KeptPast::begin_part(const Mirror& mirror) {
  Part part;
  part.first_event = end_;
  const std::size_t bytes = mirror.bytes();
  if (parts_.empty() || copied_bytes_ + bytes <= most_bytes_ / 2) {
    part.start = mirror;
    copied_bytes_ += part.start_bytes = bytes;
  }
  parts_.push_back(std::move(part));
}

/// Drops the oldest part. If the next one has no copy of the mirror, the oldest part's copy is moved on to it.
void KeptPast::drop_oldest() {
  Part oldest = std::move(parts_.front());
  parts_.pop_front();
  event_bytes_ -= oldest.events.capacity() * sizeof(Event);
  copied_bytes_ -= oldest.start_bytes;
  if (near_ && (parts_.empty() || near_->place < parts_.front().first_event)) near_.reset();
  if (parts_.empty() || parts_.front().start) return;
  oldest.start->take(oldest.events);
  copied_bytes_ += parts_.front().start_bytes = oldest.start->bytes();
  parts_.front().start = std::move(oldest.start);
}

void KeptPast::add(std::span<const Event> events, const Mirror& before) {
  // A keyframe's state is kept as a copy of the mirror, once the mirror has it.
  const bool keeps = before.in_step() && (whole_ || !parts_.empty());
  if (keeps && whole_ && (parts_.empty() || parts_.back().events.size() * sizeof(Event) >= kPartBytes))
    begin_part(before);
  std::vector<Event>* kept = keeps ? &parts_.back().events : nullptr;
  const std::size_t had = kept ? kept->capacity() : 0;
  for (const Event& event : events) {
    if (whole_) skipping_ = is<event::Keyframe>(event);
    if (kept && !skipping_) kept->push_back(event), ++end_;
    whole_ = is<event::Commit>(event);
  }
  if (!kept) return;
  event_bytes_ += (kept->capacity() - had) * sizeof(Event);
  while (event_bytes_ > most_bytes_ / 2 && parts_.size() > 1) drop_oldest();
  if (event_bytes_ > most_bytes_ / 2) forget();  // one commit needs all the room
}

const KeptPast::Part& KeptPast::part_of(std::uint64_t event) const {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), event,
                                      [](std::uint64_t at, const Part& part) { return at < part.first_event; });
  return *std::prev(after);
}

/// Sets the mirror to the latest copy at or before a commit.
void KeptPast::restart(std::uint64_t commit, Mirror& mirror, std::uint64_t& place) {
  const Part* from = &parts_.front();
  for (const Part& part : parts_)
    if (part.start && part.start->commits() <= commit) from = &part;
  if (near_ && near_->mirror.commits() <= commit && near_->place > from->first_event) {
    mirror = near_->mirror, place = near_->place;
    return;
  }
  mirror = *from->start, place = from->first_event;
  near_.reset();
  near_wanted_ = commit > mirror.commits() + 2 * kNear ? commit - kNear : 0;
}

bool KeptPast::show(std::uint64_t commit, Mirror& mirror, std::uint64_t& place, Clock::time_point until) {
  if (parts_.empty() || mirror.commits() == commit) return true;
  if (mirror.commits() > commit || place < parts_.front().first_event) restart(commit, mirror, place);
  for (std::uint64_t steps = 1; mirror.commits() < commit && place < end_; ++steps) {
    const Part& part = part_of(place);
    const std::span<const Event> rest =
        std::span(part.events).subspan(static_cast<std::size_t>(place - part.first_event));
    const auto last = std::find_if(rest.begin(), rest.end(), [](const Event& one) { return is<event::Commit>(one); });
    const auto count = static_cast<std::size_t>(last - rest.begin()) + (last != rest.end());
    mirror.take(rest.first(count));
    place += count;
    if (mirror.commits() == near_wanted_) near_ = {mirror, place}, near_wanted_ = 0;
    if (steps % 64 == 0 && Clock::now() > until) return mirror.commits() >= commit;
  }
  return true;
}

}  // namespace canopy::inspector
