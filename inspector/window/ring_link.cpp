#include "ring_link.h"

#include <utility>
#include <vector>

namespace canopy::inspector {
namespace {

using Clock = std::chrono::steady_clock;

/// Common part of all rings: reads a ring until it is empty, although its events may be overwritten meanwhile.
class RingLink : public Link {
 public:
  explicit RingLink(std::string name, const char* source) : name_(std::move(name)), source_(source) {}

  bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) override {
    session.name = name_, session.source = source_;
    if (session.state != Session::State::stopped) {
      const auto until = Clock::now() + budget;
      for (;;) {
        std::size_t count = 0;
        const auto outcome = reader().read(buffer_.data(), buffer_.size(), count);
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
      if (std::string gone = why_gone(); !gone.empty()) {
        session.state = Session::State::gone;
        session.detail = std::move(gone);
      }
    }
    time.at = time.end = time.wanted = mirror.commits();
    return true;
  }

 protected:
  virtual FeedReader& reader() = 0;
  virtual std::string why_gone() { return {}; }

 private:
  std::string name_;
  const char* source_;
  std::vector<Event> buffer_ = std::vector<Event>(8192);
};

class HeapLink final : public RingLink {
 public:
  HeapLink(FeedHeader& header, std::string name)
      : RingLink(std::move(name), "in this process"), header_(header), reader_(header) {}
  const FeedShape& header() const override { return header_; }
  bool send(const Command& command) override { return Attachment::post(header_, command); }

 private:
  FeedReader& reader() override { return reader_; }

  FeedHeader& header_;
  FeedReader reader_;
};

class SharedLink final : public RingLink {
 public:
  SharedLink(std::unique_ptr<Attachment> attachment, std::string name)
      : RingLink(std::move(name), "shared memory"), attachment_(std::move(attachment)) {}
  const FeedShape& header() const override { return attachment_->header(); }
  bool send(const Command& command) override { return attachment_->send(command); }
  bool can_come_again() const override { return true; }

 private:
  FeedReader& reader() override { return attachment_->reader(); }
  std::string why_gone() override { return attachment_->gone(); }

  std::unique_ptr<Attachment> attachment_;
};

}  // namespace

std::unique_ptr<Link> link_to(FeedHeader& header, std::string name) {
  return std::make_unique<HeapLink>(header, std::move(name));
}
std::unique_ptr<Link> link_to(std::unique_ptr<Attachment> attachment, std::string name) {
  return std::make_unique<SharedLink>(std::move(attachment), std::move(name));
}

}  // namespace canopy::inspector
