#include "channel.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {

Result<std::monostate> Channel::attach(Clock::time_point now) {
  if (source_) return std::monostate{};
  look_from_ = now + limits_.look_each;
  auto opened = open_();
  if (!opened) return opened.error();
  source_ = std::move(*opened);
  looked_.clear();
  pieces_.lost();
  // A new reader has requested a keyframe.
  wanted_at_ = now, keyframe_comes_ = true;
  for (Outbox* page : pages_) page->attach(name_, source_->shape());
  return std::monostate{};
}

void Channel::join(Outbox& page, Clock::time_point now) {
  if (auto attached = attach(now); !attached && !watched()) why_gone_ = attached.error().text;
  pages_.insert(&page);
  if (source_) page.attach(name_, source_->shape());
  else page.detach(why_gone_);
}

void Channel::leave(Outbox& page) {
  pages_.erase(&page);
  page.leave();
  if (pages_.empty()) source_.reset();
}

void Channel::step(Clock::time_point now) {
  if (pages_.empty()) return;
  if (!source_) {
    if (now < look_from_) return;
    if (auto attached = attach(now); !attached) {
      const std::string& why = attached.error().text;
      // Behind the reason are the names of the feeds that there are, which may change often.
      const std::string before = std::exchange(looked_, why.substr(0, why.find(';')));
      // The first look after an end would only replace the reason of the end.
      if (before.empty() || before == looked_) return;
      why_gone_ = why;
      for (Outbox* page : pages_) page->say(protocol::gone(why_gone_));
      return;
    }
  }
  read();
  if (source_) want_keyframe(now);
}

void Channel::read() {
  for (const auto began = Clock::now(); Clock::now() < began + kAtOnce;) {
    // Checks this before reading: what was written before the end is then read.
    const std::string gone = source_->gone();
    std::size_t count = 0;
    switch (source_->reader().read(events_.data(), events_.size(), count)) {
      case FeedReader::Outcome::events:
        for (const Piece& piece : pieces_.take({events_.data(), count})) {
          if (piece.begins) keyframe_comes_ = false;
          for (Outbox* page : pages_) page->take(piece);
        }
        if (pieces_.waiting() > kMostBegun) return lose();
        break;
      case FeedReader::Outcome::lapped:
        keyframe_comes_ = true;  // the reader has requested one
        return lose();
      case FeedReader::Outcome::nothing:
        if (!gone.empty()) end(gone);
        return;
    }
  }
}

void Channel::lose() {
  pieces_.lost();
  for (Outbox* page : pages_) page->lose();
}

void Channel::end(const std::string& why) {
  source_.reset();
  why_gone_ = why;
  for (Outbox* page : pages_) page->detach(why);
}

/// Requests a keyframe if a page waits for one. A keyframe serves all pages that wait when it arrives.
void Channel::want_keyframe(Clock::time_point now) {
  if (keyframe_comes_ || now < wanted_at_ + limits_.keyframe_each) return;
  if (std::ranges::none_of(pages_, [](const Outbox* page) { return page->wants_keyframe(); })) return;
  wanted_at_ = now, keyframe_comes_ = true;
  source_->reader().want_keyframe();
}

}  // namespace canopy::inspector
