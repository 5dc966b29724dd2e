#include "ring_link.h"

#include <shell/live_link.h>
#include <sources/feed_source.h>

#include <utility>
#include <vector>

namespace canopy::inspector {
namespace {

/// Memory for going back.
constexpr std::size_t kPastBytes = std::size_t{256} << 20;

/// Reads a ring until it is empty, although its events may be overwritten meanwhile.
class RingLink final : public LiveLink {
 public:
  RingLink(std::unique_ptr<FeedSource> source, std::string name)
      : LiveLink(std::move(name), source->is_shared() ? "shared memory" : "in this process", kPastBytes),
        feed_(std::move(source)) {}
  const FeedShape& header() const override { return feed_->shape(); }
  bool send(const Command& command) override { return feed_->send(command); }
  bool can_come_again() const override { return feed_->is_shared(); }

 private:
  Arrived next(std::span<const Event>& events) override {
    std::size_t count = 0;
    const auto outcome = feed_->reader().read(buffer_.data(), buffer_.size(), count);
    events = {buffer_.data(), count};
    return outcome == FeedReader::Outcome::nothing  ? Arrived::nothing
           : outcome == FeedReader::Outcome::lapped ? Arrived::lapped
                                                    : Arrived::events;
  }
  std::string ended() const override { return feed_->gone(); }

  std::unique_ptr<FeedSource> feed_;
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
