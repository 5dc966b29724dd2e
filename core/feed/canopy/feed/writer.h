#pragma once

#include <canopy/feed/events.h>
#include <canopy/feed/header.h>
#include <canopy/feed/tree_listener.h>
#include <canopy/page_runs.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace canopy {

/// The writing end of a feed: one thread, any number of readers. It takes no lock and never waits. While no reader is
/// attached it costs a branch. REQUIRES: `words` has room for `ring_events` events.
class FeedWriter {
 public:
  FeedWriter(FeedHeader& header, FeedWord* words, std::uint64_t ring_events)
      : header_(header), shape_(header), words_(words), mask_(ring_events - 1) {}
  /// Of the index of the tier below: what it pushes goes into the feed of `above`, marked with kOfTierBelow. It is on
  /// when that one is; only push(), push_pages() and what an index asks for are called. REQUIRES: they are destroyed
  /// together.
  explicit FeedWriter(FeedWriter& above)
      : header_(above.header_),
        shape_(above.shape_),
        words_(nullptr),
        mask_(0),
        digest_key_(above.digest_key_),
        above_(&above) {
    above.below_ = this;
    on_ = above.on_;
  }
  FeedWriter(const FeedWriter&) = delete;

  bool on() const { return on_; }
  void turn(bool on) {
    on_ = on;
    if (below_) below_->on_ = on;
  }

  template <class T>
  void push(const T& event) {
    put(event.encode());
  }

  /// Of an index that pushes no nodes: why, in a few words. It outlives the writer.
  void tell_no_nodes(const char* why) { no_nodes_ = why; }
  const char* no_nodes() const { return no_nodes_; }  ///< null: it pushes all

  /// What else hears of the tree, whether a reader is attached or not; null: nothing does. It outlives the writer.
  TreeListener* listener() const { return listener_; }
  void listen(TreeListener* listener) { listener_ = listener; }
  /// Whether anything hears of the tree: a reader or a listener.
  bool heard() const { return on_ || listener_ != nullptr; }
  /// Tells both that a node was split, removed or became a tombstone, or that all nodes went.
  void tell(const event::NodeSplit& event) { tell_as(event, &TreeListener::split); }
  void tell(const event::NodeRemoved& event) { tell_as(event, &TreeListener::removed); }
  void tell(const event::NodeTombstoned& event) { tell_as(event, &TreeListener::tombstoned); }
  void tell(const event::Cleared& event) { tell_as(event, &TreeListener::cleared); }
  /// Events of one node or request for runs of its pages, two to an event. Call add() in the order of the places, then
  /// end(). `event` names the node or the request.
  template <class T>
  class Runs {
   public:
    Runs(FeedWriter& feed, T event) : feed_(feed), event_(event) {}
    void add(std::size_t place, Segment run) {
      const Segment& first = event_.runs[0];
      // The second run of an event follows the first without a gap.
      if (first.pages != 0 && place_ + first.pages == place) {
        event_.runs[1] = run;
        end();
      } else {
        end();
        place_ = place;
        event_.runs[0] = run;
      }
    }
    void end() {
      if constexpr (requires { event_.place; }) event_.place = static_cast<std::uint32_t>(place_);
      if (event_.runs[0].pages != 0) feed_.push(event_);
      event_.runs = {};
    }

   private:
    FeedWriter& feed_;
    T event_;
    std::size_t place_ = 0;
  };
  /// The pages of places [first_place, places). The page of place i is pages[i * stride]; 0 is skipped.
  template <class T>
  void push_pages(const T& event, std::size_t first_place, std::size_t places, const Page* pages,
                  std::size_t stride = 1) {
    Runs<T> runs(*this, event);
    for (std::size_t i = first_place; i < places;) {
      const Page first = pages[i * stride];
      std::size_t end = i + (stride == 1 ? pages_in_a_row(pages + i, places - i) : 1);
      while (stride != 1 && end < places && pages[end * stride] == first + (end - i)) ++end;
      if (first == 0) end = i + 1;
      else runs.add(i, {first, static_cast<std::uint32_t>(end - i)});
      i = end;
    }
    runs.end();
  }
  void push_words(NodeId node, const std::uint32_t* words, Units length) {
    for (Units at = 0; at < length; at += event::NodeWords::kWords) {
      event::NodeWords some{node, at, {}};
      std::copy(words + at, words + std::min(at + event::NodeWords::kWords, length), some.words.begin());
      push(some);
    }
  }
  void push_text(TextKind kind, std::size_t number, std::string_view text) {
    event::TextPiece piece{kind, static_cast<std::uint32_t>(number), 0, false, 0, {}};
    do {
      piece.bytes = {};
      piece.size = static_cast<std::uint8_t>(text.copy(piece.bytes.data(), piece.bytes.size()));
      text.remove_prefix(piece.size);
      piece.last = text.empty();
      push(piece);
      piece.at += piece.size;
    } while (!piece.last);
  }
  /// Readers may take everything pushed so far.
  void publish() { header_.committed.store(at_, std::memory_order_release); }

  /// Keys the digests of NodeNamed, so that a recording does not tell a guesser what a prompt was. 0 where the feed
  /// carries the tokens: then a reader can make the same digests.
  std::uint64_t digest_key() const { return digest_key_; }
  void use_digest_key(std::uint64_t key) { digest_key_ = key; }
  /// Events pushed since the feed began.
  std::uint64_t at() const { return at_; }
  /// `empty` is called before the writer would overwrite events that were not taken away: a file's writer empties the
  /// buffer.
  void empty_with(void (*empty)(void*), void* context) { empty_ = empty, empty_context_ = context; }
  /// What readers see. The writer reads nothing back from it.
  FeedHeader& header() { return header_; }
  /// What the header said when the feed began, which no reader can change.
  const FeedShape& shape() const { return shape_; }

 private:
  template <class T>
  void tell_as(const T& event, void (TreeListener::*hears)(const T&)) {
    if (on_) push(event);
    if (listener_) (listener_->*hears)(event);
  }
  void put(const Event& event) {
    if (above_) {
      Event marked = event;
      marked.group |= kOfTierBelow;
      return above_->put(marked);
    }
    if (at_ == claimed_) claim();
    // The ring is larger than a cache: its lines are asked for before they are written.
    constexpr std::uint64_t kAhead = 32;
    __builtin_prefetch(words_ + ((at_ + kAhead) & mask_) * kWordsAnEvent, 1);
    FeedWord* to = words_ + (at_++ & mask_) * kWordsAnEvent;
    std::uint64_t words[kWordsAnEvent];
    std::memcpy(words, &event, sizeof(event));
    // Release, so that a reader that sees one of these also sees that the place was claimed.
    for (std::size_t i = 0; i < kWordsAnEvent; ++i) to[i].store(words[i], std::memory_order_release);
  }
  void claim() {
    constexpr std::uint64_t kAhead = 64;  // one store of `claimed` for so many events
    if (empty_ && (at_ & mask_) == 0 && at_ != 0) empty_(empty_context_);
    claimed_ = at_ + (mask_ + 1 < kAhead ? mask_ + 1 : kAhead);
    header_.claimed.store(claimed_, std::memory_order_relaxed);
  }

  FeedHeader& header_;
  FeedShape shape_;
  FeedWord* words_;
  std::uint64_t mask_, at_ = 0, claimed_ = 0;
  bool on_ = false;
  std::uint64_t digest_key_ = 0;
  void (*empty_)(void*) = nullptr;
  void* empty_context_ = nullptr;
  TreeListener* listener_ = nullptr;
  const char* no_nodes_ = nullptr;
  FeedWriter *above_ = nullptr, *below_ = nullptr;  ///< of another tier, in the same feed
};

}  // namespace canopy
