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

bool StreamLink::pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) {
  using Clock = std::chrono::steady_clock;
  session.name = name_, session.source = "from a server";
  if (session.state != Session::State::stopped) {
    const auto until = Clock::now() + budget;
    if (std::exchange(lapped_, false)) {
      mirror.lost();
      ++session.laps;
    }
    constexpr std::size_t kChunk = 4096;
    while (next_ < waiting_.size()) {
      const std::size_t count = std::min(kChunk, waiting_.size() - next_);
      mirror.take({waiting_.data() + next_, count}, time.history.watch(mirror));
      next_ += count;
      if (Clock::now() > until) return false;
    }
    waiting_.clear();
    next_ = 0;
    session.state = mirror.in_step() ? Session::State::live : Session::State::attaching;
    if (!gone_.empty()) {
      session.state = Session::State::gone;
      session.detail = gone_;
      session.waits_for_again = true;  // the server, or the engine behind it, may come back
    }
  }
  time.at = time.end = time.wanted = mirror.commits();
  return true;
}

}  // namespace canopy::inspector
