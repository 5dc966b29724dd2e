#include "recording.h"

#include <canopy/base/file.h>
#include <canopy/feed/events.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace canopy::inspector {

Result<std::unique_ptr<Recording>> Recording::begin(const std::string& path) {
  const auto cannot = [&](const std::string& why) { return Error{path + ": " + why}; };
  const OpenedFile file = open_regular(path);
  if (file.error != 0) return cannot(std::strerror(file.error));
  if (!file.descriptor) return cannot("expected a regular file");
  const auto bytes = static_cast<std::size_t>(file.facts.st_size);
  std::unique_ptr<Recording> recording(new Recording);
  if (bytes < FeedHeader::kBytes) return cannot("this is not a recording of a feed: it is too short for a header");
  if (!recording->memory_.map(file.descriptor.get(), bytes, SharedMapping::Access::read_private))
    return cannot(std::strerror(errno));
  recording->events_ = reinterpret_cast<const Event*>(recording->memory_.base() + FeedHeader::kBytes);
  FeedShape& header = recording->shape_;
  std::memcpy(&header, recording->memory_.base(), sizeof(header));
  constexpr std::size_t kVersion = sizeof(header.magic) - 1;
  const char version = header.magic[kVersion];  // a digit; otherwise it is no recording, and must not be printed
  if (std::memcmp(header.magic, FeedShape::kMagic, kVersion) != 0 || version < '0' || version > '9')
    return cannot("this is not a recording of a feed; `canopy replay ... --record FILE` makes one");
  if (version != FeedShape::kMagic[kVersion])
    return cannot(std::string("it was recorded by another version of Canopy, in format '") + version +
                  "'; this one reads format '" + FeedShape::kMagic[kVersion] + "'");
  if (header.event_bytes != sizeof(Event) || header.groups == 0 || header.groups > kMaxGroups || header.page_size == 0)
    return cannot("it was recorded by another version of Canopy");
  recording->end_ = (bytes - FeedHeader::kBytes) / sizeof(Event);
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

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path) {
  auto recording = begin(path);
  if (!recording) return recording;
  (*recording)->scan((*recording)->end_);
  if ((*recording)->commits_ == 0) return Error{path + ": " + kNothing};
  return recording;
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
  return {events_ + from, to > from ? to - from : 0};
}

}  // namespace canopy::inspector
