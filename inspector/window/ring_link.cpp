#include "ring_link.h"

#include <sources/feed_source.h>

#include <utility>
#include <vector>

namespace canopy::inspector {
namespace {

using Clock = std::chrono::steady_clock;

/// Reads a ring until it is empty, although its events may be overwritten meanwhile.
class RingLink final : public Link {
 public:
  RingLink(std::unique_ptr<FeedSource> source, std::string name) : source_(std::move(source)), name_(std::move(name)) {}
  const FeedShape& header() const override { return source_->shape(); }
  bool send(const Command& command) override { return source_->send(command); }
  bool can_come_again() const override { return source_->is_shared(); }

  bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) override {
    session.name = name_, session.source = source_->is_shared() ? "shared memory" : "in this process";
    if (session.state != Session::State::stopped) {
      const auto until = Clock::now() + budget;
      for (;;) {
        std::size_t count = 0;
        const auto outcome = source_->reader().read(buffer_.data(), buffer_.size(), count);
        if (outcome == FeedReader::Outcome::nothing) break;
        if (outcome == FeedReader::Outcome::lapped) {
          mirror.lost();
          ++session.laps;
        } else {
          mirror.take({buffer_.data(), count}, time.history.watch(mirror));
        }
        if (Clock::now() > until) return false;
      }
      session.state = mirror.in_step() ? Session::State::live : Session::State::attaching;
      if (std::string gone = source_->gone(); !gone.empty()) {
        session.state = Session::State::gone;
        session.detail = std::move(gone);
      }
    }
    time.at = time.end = time.wanted = mirror.commits();
    return true;
  }

 private:
  std::unique_ptr<FeedSource> source_;
  std::string name_;
  std::vector<Event> buffer_ = std::vector<Event>(8192);
};

}  // namespace

std::unique_ptr<Link> link_to(FeedHeader& header, std::string name) {
  return std::make_unique<RingLink>(source_of(header), std::move(name));
}
std::unique_ptr<Link> link_to(std::unique_ptr<Attachment> attachment, std::string name) {
  return std::make_unique<RingLink>(source_of(std::move(attachment)), std::move(name));
}

}  // namespace canopy::inspector
