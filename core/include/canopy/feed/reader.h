#pragma once

#include <canopy/feed/header.h>

#include <cstring>

namespace canopy {

/// Reads a ring. Any number of readers may read at the same time. A reader requests a keyframe when it attaches and
/// when the writer has overtaken it.
class FeedReader {
 public:
  explicit FeedReader(FeedHeader& header) : FeedReader(header, header.ring_events) {}
  /// Creates a reader for a feed of another process, which may change the header at any time. REQUIRES: `ring_events`
  /// was checked against the mapped size.
  FeedReader(FeedHeader& header, std::uint64_t ring_events)
      : header_(header),
        desk_(desk_behind(header)),
        words_(words_behind(header)),
        mask_(ring_events - 1),
        at_(header.committed.load(std::memory_order_acquire)) {
    desk_.readers.fetch_add(1);
    want_keyframe();
  }
  ~FeedReader() { desk_.readers.fetch_sub(1); }
  FeedReader(const FeedReader&) = delete;

  enum class Outcome { nothing, events, lapped };
  /// Copies at most `room` committed events to `into`, and sets `count`. Returns `lapped` if events were lost: skip the
  /// next ones up to the keyframe that the reader has requested.
  Outcome read(Event* into, std::size_t room, std::size_t& count) {
    count = 0;
    const std::uint64_t end = header_.committed.load(std::memory_order_acquire);
    if (end == at_) return Outcome::nothing;
    const std::uint64_t take = end - at_ < room ? end - at_ : room;
    if (end - at_ <= mask_ + 1) {
      for (std::uint64_t i = 0; i < take; ++i) {
        std::uint64_t words[kWordsAnEvent];
        const FeedWord* from = words_ + ((at_ + i) & mask_) * kWordsAnEvent;
        for (std::size_t w = 0; w < kWordsAnEvent; ++w) words[w] = from[w].load(std::memory_order_acquire);
        std::memcpy(into + i, words, sizeof(words));
      }
      if (header_.claimed.load(std::memory_order_relaxed) <= at_ + mask_ + 1) {
        at_ += take;
        count = take;
        return Outcome::events;
      }
    }
    at_ = end;
    want_keyframe();
    return Outcome::lapped;
  }
  /// Requests another keyframe, for those that the reader passes its events to. It comes with the engine's next
  /// operation, or a little later: the engine spends at most a tenth of its time on keyframes.
  void want_keyframe() { desk_.keyframes_wanted.fetch_add(1); }

 private:
  const FeedHeader& header_;
  FeedDesk& desk_;
  const FeedWord* words_;
  std::uint64_t mask_, at_;
};

}  // namespace canopy
