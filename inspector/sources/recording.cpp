#include "recording.h"

#include <canopy/feed/events.h>

#include <algorithm>
#include <cstring>

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
  constexpr std::size_t kVersion = sizeof(header.magic) - 1;
  const char version = header.magic[kVersion];  // a digit; otherwise it is no recording, and must not be printed
  if (std::memcmp(header.magic, FeedShape::kMagic, kVersion) != 0 || version < '0' || version > '9')
    return cannot("this is not a recording of a feed; `canopy replay ... --record FILE` makes one");
  if (version != FeedShape::kMagic[kVersion])
    return cannot(std::string("it was recorded by another version of Canopy, in format '") + version +
                  "'; this one reads format '" + FeedShape::kMagic[kVersion] + "'");
  if (header.event_bytes != sizeof(Event) || header.groups == 0 || header.groups > kMaxGroups || header.page_size == 0)
    return cannot("it was recorded by another version of Canopy");
  recording->end_ = (bytes.size() - FeedHeader::kBytes) / sizeof(Event);
  return recording;
}

bool Recording::scan(std::uint64_t events) {
  for (const std::uint64_t stop = next_ + std::min(events, end_ - next_); next_ < stop;) {
    const Event& one = events_[next_++];
    if (is<event::RequestBegun>(one)) begun_.emplace(std::bit_cast<event::RequestBegun>(one).request, commits_ + 1);
    if (!is<event::Commit>(one)) continue;
    if (commits_ % kStride == 0) marks_.push_back(whole_);
    ++commits_;
    whole_ = next_;
  }
  return next_ == end_;
}

std::uint64_t Recording::event_of(std::uint64_t commit) const {
  if (commit >= commits_) return whole_;
  std::uint64_t at = marks_[commit / kStride];
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
