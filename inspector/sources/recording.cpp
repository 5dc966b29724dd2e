#include "recording.h"

#include <canopy/base/figures.h>
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
  const auto& marks = *reinterpret_cast<const FeedHeader*>(bytes.data());
  recording->mark_ = marks.closed.load(std::memory_order_relaxed);
  recording->marked_events_ = marks.committed.load(std::memory_order_relaxed);
  recording->marked_sum_ = marks.sum.load(std::memory_order_relaxed);
  recording->sum_ = RecordingSum(header);
  recording->end_ = (bytes.size() - FeedHeader::kBytes) / sizeof(Event);
  recording->partial_ = (bytes.size() - FeedHeader::kBytes) % sizeof(Event) != 0;
  return recording;
}

bool Recording::scan(std::uint64_t events) {
  if (next_ == end_) return true;
  sum_.add(events_ + next_, static_cast<std::size_t>(std::min(events, end_ - next_)));
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

Doubts Recording::doubts() const {
  using Kind = Doubt::Kind;
  const auto one = [](Kind kind, std::uint64_t count, std::string sentence) {
    return Doubts{{kind, std::max<std::uint64_t>(count, 1), std::move(sentence)}};
  };
  if (shrank()) return one(Kind::input, 1, "the file was shortened while it was read");
  switch (mark_) {
    case RecordingEnd::kNotMarked:
      if (whole_ == end_ && !partial_) return {};
      return one(Kind::cut, end_ - whole_, "the recording ends in the middle of an operation: the file was cut");
    case RecordingEnd::kOpen:
      return one(Kind::cut, end_ - whole_,
                 "the recording has no end: it is written now, or its writer was killed, and what followed is missing");
    case RecordingEnd::kClosed:
      break;
    default:
      return one(Kind::damaged, 1, "the header of the recording is damaged");
  }
  if (end_ < marked_events_)
    return one(Kind::cut, marked_events_ - end_,
               "the recording was cut: it has " + grouped(end_) + " of the " + plural(marked_events_, "event") +
                   " that its writer wrote");
  if (end_ > marked_events_ || partial_ || sum_.value() != marked_sum_)
    return one(Kind::damaged, 1, "the recording was damaged: its content is not that which its writer wrote");
  return {};
}

Doubts Recording::doubts_at_end() const {
  Doubts all = doubts();
  RecordingSum now(shape_);
  now.add(events_, static_cast<std::size_t>(end_));
  if (shrank() || now.value() != sum_.value())
    all.push_back({Doubt::Kind::input, 1, "the file was changed while it was read"});
  return all;
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
