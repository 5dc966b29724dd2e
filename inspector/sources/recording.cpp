#include "recording.h"

#include <canopy/feed/events.h>

#include <algorithm>
#include <cstring>

#include "feed_flaw.h"

namespace canopy::inspector {

Result<std::unique_ptr<Recording>> Recording::begin(std::unique_ptr<RecordedBytes> memory, const std::string& name) {
  const auto cannot = [&](const std::string& why) { return Error{name + ": " + why}; };
  const std::span<const std::byte> bytes = memory->bytes();
  if (bytes.size() < FeedHeader::kBytes)
    return cannot("this is not a recording of a feed: it is too short for a header");
  std::unique_ptr<Recording> recording(new Recording);
  recording->memory_ = std::move(memory);
  recording->events_ = reinterpret_cast<const Event*>(bytes.data() + FeedHeader::kBytes);
  FeedShape& header = recording->shape_;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const std::string flaw = flaw_of(header);
  if (flaw == kNotAFeed)
    return cannot("this is not a recording of a feed; `canopy replay ... --record FILE` makes one");
  if (!flaw.empty()) return cannot(flaw);
  recording->end_ = (bytes.size() - FeedHeader::kBytes) / sizeof(Event);
  return recording;
}

bool Recording::scan(std::uint64_t events) {
  if (next_ == end_) return true;
  for (const std::uint64_t stop = next_ + std::min(events, end_ - next_); next_ < stop;) {
    const Event& one = events_[next_++];
    if (is<event::RequestBegun>(one))
      begun_.emplace_back(std::bit_cast<event::RequestBegun>(one).request, commits_ + 1);
    if (!is<event::Commit>(one)) continue;
    if (commits_ % kStride == 0) marks_.push_back(whole_);
    ++commits_;
    whole_ = next_;
  }
  if (next_ < end_) return false;
  std::sort(begun_.begin(), begun_.end());
  return true;
}

std::uint64_t Recording::event_of(std::uint64_t commit) const {
  if (commit >= commits_) return whole_;
  std::uint64_t at = marks_[static_cast<std::size_t>(commit / kStride)];
  // Another process may have changed the file since its commits were counted.
  for (std::uint64_t passed = commit / kStride * kStride; passed < commit && at < whole_; ++at)
    passed += is<event::Commit>(events_[at]);
  return at;
}

std::span<const Event> Recording::events(std::uint64_t first, std::uint64_t end) const {
  const std::uint64_t from = event_of(std::min(first, commits_)), to = event_of(std::min(end, commits_));
  return {events_ + from, static_cast<std::size_t>(to > from ? to - from : 0)};
}

}  // namespace canopy::inspector
