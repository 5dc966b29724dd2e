#include "live_link.h"

#include <canopy/base/figures.h>

#include <algorithm>

namespace canopy::inspector {
namespace {

/// Time for a step back, so that a near moment is there with the next frame.
constexpr auto kStepTime = std::chrono::milliseconds(100);

}  // namespace

/// Reads what has arrived. Returns false if the time was over before.
bool LiveLink::read(Mirror& now, Session& session, Timeline& time, KeptPast::Clock::time_point until) {
  std::span<const Event> events;
  for (Arrived arrived = next(events); arrived != Arrived::nothing; arrived = next(events)) {
    if (arrived == Arrived::lapped) {
      now.lost();
      past_.lost();
      ++session.laps;
    } else {
      past_.add(events, now);
      now.take(events, time.history.watch(now));
    }
    if (KeptPast::Clock::now() > until) return false;
  }
  return true;
}

bool LiveLink::pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) {
  const auto began = KeptPast::Clock::now();
  session.name = name_, session.source = source_;
  time.live = true;
  if (time.held && !now_) now_ = mirror, place_ = 0;
  if (!time.held && now_) {
    mirror = std::move(*now_);
    now_.reset();
  }
  Mirror& now = now_ ? *now_ : mirror;
  const bool all = read(now, session, time, began + budget);
  session.state = now.in_step() ? Session::State::live : Session::State::attaching;
  if (std::string why = all ? ended() : std::string(); !why.empty()) {
    session.state = Session::State::gone;
    session.detail = std::move(why);
  }
  time.end = now.commits();
  time.seekable = !past_.empty();
  time.first = time.seekable ? past_.first() : time.end;
  time.kept_bytes = past_.bytes(), time.most_kept_bytes = past_.most_bytes();
  session.reading.clear();
  if (!now_) {
    time.at = time.wanted = time.end;
    return all;
  }
  const bool there = past_.show(time.wanted, mirror, place_,
                                KeptPast::Clock::now() + std::max<std::chrono::milliseconds>(budget, kStepTime));
  time.at = mirror.commits();
  if (there) time.wanted = time.at;
  if (there) return all;
  session.reading = "commit " + grouped(time.at) + " of " + grouped(time.wanted);
  session.done = static_cast<double>(time.at) / static_cast<double>(time.wanted);
  return false;
}

}  // namespace canopy::inspector
