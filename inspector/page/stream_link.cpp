#include "stream_link.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {

bool StreamLink::add(std::span<const Event> events) {
  if ((waiting_.size() - next_ + events.size()) * sizeof(Event) > kMostBytes) return false;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
  waiting_.insert(waiting_.end(), events.begin(), events.end());
  return true;
}

void StreamLink::lapped() {
  waiting_.clear();
  next_ = 0;
  lapped_ = true;
}

void StreamLink::answered(bool accepted) {
  const auto command = std::exchange(unanswered_, std::nullopt);
  if (!accepted && command) send(*command);
}

bool StreamLink::send(const Command& command) {
  if (unanswered_ || header_.controls == 0) return false;
  unanswered_ = command;
  send_(command);
  return true;
}

LiveLink::Arrived StreamLink::next(std::span<const Event>& events) {
  if (std::exchange(lapped_, false)) return Arrived::lapped;
  constexpr std::size_t kChunk = 4096;
  if (next_ == waiting_.size()) {
    waiting_.clear();
    next_ = 0;
    return Arrived::nothing;
  }
  events = std::span<const Event>(waiting_).subspan(next_, std::min(kChunk, waiting_.size() - next_));
  next_ += events.size();
  return Arrived::events;
}

bool StreamLink::pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) {
  const bool all = LiveLink::pump(mirror, session, time, budget);
  // The server, or the engine behind it, may come back.
  session.server_gone = session.state == Session::State::gone && server_gone_;
  session.waits_for_again = session.state == Session::State::gone;
  return all;
}

}  // namespace canopy::inspector
