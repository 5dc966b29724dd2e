#include "feed_follower.h"

#include <utility>

namespace canopy::app {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLookEvery{200}, kAtOnce{20};
constexpr std::size_t kEvents = 4096;

}  // namespace

FeedFollower::FeedFollower(std::string name, std::size_t tenants)
    : name_(std::move(name)), tally_(name_, tenants), events_(kEvents) {}

void FeedFollower::look() {
  if (Clock::now() < look_from_) return;
  look_from_ = Clock::now() + kLookEvery;
  auto found = inspector::Attachment::attach(name_);
  if (!found) {
    why_ = found.error().text;
    return;
  }
  attachment_ = std::move(*found);
  why_.clear();
  tally_.attach(attachment_->header());
}

void FeedFollower::step() {
  if (!attachment_) look();
  if (!attachment_) return;
  for (const auto began = Clock::now(); Clock::now() < began + kAtOnce;) {
    std::size_t count = 0;
    // Checks this before reading: what was written before the end is then read.
    const std::string gone = attachment_->gone();
    switch (attachment_->reader().read(events_.data(), events_.size(), count)) {
      case FeedReader::Outcome::events:
        came_ = true;
        tally_.take({events_.data(), count});
        break;
      case FeedReader::Outcome::lapped:
        came_ = true;
        tally_.lost();
        break;
      case FeedReader::Outcome::nothing:
        if (gone.empty()) return;
        attachment_.reset();
        tally_.detach();
        why_ = "the feed '" + name_ + "': " + gone;
        return;
    }
  }
}

}  // namespace canopy::app
