#pragma once

#include <canopy/feed/events.h>
#include <canopy/feed/header.h>
#include <canopy/feed/tree_listener.h>
#include <canopy/helpers/page_runs.h>
#include <canopy/index_events.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace canopy {

/// Writes a feed, from one thread, for any number of readers. It takes no lock and never waits for a reader. While no
/// reader is attached, a call costs one branch. REQUIRES: `words` has room for `ring_events` events.
class FeedWriter final : public IndexEvents {
 public:
  FeedWriter(FeedHeader& header, FeedWord* words, std::uint64_t ring_events)
      : header_(header), shape_(header), words_(words), mask_(ring_events - 1) {}
  /// Creates a writer for the index of the tier below. Its events go into the feed of `above`, marked with
  /// kOfTierBelow. It is on while `above` is on. Call only push(), push_pages() and the functions of IndexEvents.
  /// REQUIRES: both are destroyed together.
  explicit FeedWriter(FeedWriter& above)
      : header_(above.header_),
        shape_(above.shape_),
        words_(nullptr),
        mask_(0),
        digest_key_(above.digest_key_),
        above_(&above) {
    above.below_ = this;
    turn(above.on_);
  }
  FeedWriter(const FeedWriter&) = delete;

  bool on() const { return on_; }
  void turn(bool on) {
    on_ = on;
    update_wants();
    if (below_) below_->turn(on);
  }

  template <class T>
  void push(const T& event) {
    put(std::bit_cast<Event>(event));
  }

  /// Returns the reason why the index sends no nodes (has_no_tree). May be null (it sends them).
  const char* no_nodes() const { return no_nodes_; }

  /// Returns the second receiver of node changes, which is called even if no reader is attached. May be null (no KV
  /// events configured). REQUIRES: it outlives the writer.
  TreeListener* listener() const { return listener_; }
  void listen(TreeListener* listener) {
    listener_ = listener;
    update_wants();
  }

  void has_no_tree(const char* why) override;
  void added(const AddedNode& node) override;
  void split(NodeId node, NodeId upper, Units units, std::uint32_t inserts) override;
  void filled(NodeId node, std::size_t group, Units length, const std::uint32_t* words,
              const NodePageList& pages) override;
  void tombstoned(NodeId node, std::size_t group) override;
  void removed(NodeId node, bool inherited) override;
  void cleared() override;
  void relocated(NodeId node, std::size_t group, const NodePageList& pages) override;
  void used(NodeId node, Tick tick, Units from) override;
  void created(NodeId node, Tick created) override;
  void changed(NodeId node, std::int32_t priority, Tick last_access, std::uint32_t hits,
               std::uint32_t inserts) override;
  void ranked(NodeId node, std::size_t group, Rank rank) override;
  void locked(NodeId node, std::size_t group, Units from) override;
  void unlocked(NodeId node, std::size_t group, Units from) override;
  void relocked(NodeId node, std::size_t group, Units from, NodeId before, Units from_before) override;
  void relaxed(NodeId node, std::size_t group, Units from_before, Units from) override;

  /// Collects runs of pages of one node or request into events of up to two runs. Call add() in the order of the
  /// places, then end(). `event` identifies the node or the request.
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
  /// Pushes the pages of the places [first_place, places). The page of place i is pages[i * stride]; 0: no page.
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
      event::NodeWords some{.first = at, .node = node};
      std::copy(words + at, words + std::min(at + event::NodeWords::kWords, length), some.words.begin());
      push(some);
    }
  }
  /// Pushes the digests of pages from 1 on. `digest`: returns that of a page.
  template <class Digest>
  void push_digests(NodeId node, std::uint32_t pages, Digest&& digest) {
    for (std::uint32_t at = 1; at < pages; at += event::NodeDigests::kPages) {
      event::NodeDigests some{.place = at, .node = node};
      const std::uint32_t count = std::min(event::NodeDigests::kPages, pages - at);
      for (std::uint32_t i = 0; i < count; ++i) some.digests[i] = static_cast<std::uint32_t>(digest(at + i));
      push(some);
    }
  }
  void push_text(TextKind kind, std::size_t number, std::string_view text) {
    event::TextPiece piece{.text = kind, .number = static_cast<std::uint32_t>(number)};
    do {
      piece.bytes = {};
      piece.size = static_cast<std::uint8_t>(text.copy(piece.bytes.data(), piece.bytes.size()));
      text.remove_prefix(piece.size);
      piece.last = text.empty();
      push(piece);
      piece.at += piece.size;
    } while (!piece.last);
  }
  /// Makes everything pushed so far available to readers.
  void publish() { header_.committed.store(at_, std::memory_order_release); }

  /// Least units of a page for NodeDigests.
  static constexpr std::uint32_t kDigestedPage = 8;
  /// Returns the random key of NodeNamed::digest. Without the key, a reader cannot confirm a guess of a prompt. 0: the
  /// feed contains the tokens, and readers can compute the same digests.
  std::uint64_t digest_key() const { return digest_key_; }
  void use_digest_key(std::uint64_t key) { digest_key_ = key; }
  /// Returns the number of events pushed so far.
  std::uint64_t at() const { return at_; }
  /// Sets a function that is called before the writer begins to overwrite the buffer: for a file, it saves the events.
  void empty_with(void (*empty)(void*), void* context) { empty_ = empty, empty_context_ = context; }
  /// Returns the header that readers map. The writer never relies on its content.
  FeedHeader& header() { return header_; }
  /// Returns the header as it was when the feed began, which no reader can change.
  const FeedShape& shape() const { return shape_; }

 private:
  template <class T>
  void report(const T& event, void (TreeListener::*receive)(const T&)) {
    if (wants_all()) push(event);
    if (listener_) (listener_->*receive)(event);
  }
  void update_wants() { wants_ = on_ && !no_nodes_ ? Wants::all : listener_ ? Wants::nodes : Wants::nothing; }
  void put(const Event& event) {
    if (above_) {
      Event marked = event;
      marked.group |= kOfTierBelow;
      return above_->put(marked);
    }
    if (at_ == claimed_) claim();
    // The ring is larger than a cache: its lines are prefetched before they are written.
    constexpr std::uint64_t kAhead = 32;
    __builtin_prefetch(words_ + ((at_ + kAhead) & mask_) * kWordsAnEvent, 1);
    FeedWord* to = words_ + (at_++ & mask_) * kWordsAnEvent;
    std::uint64_t words[kWordsAnEvent];
    std::memcpy(words, &event, sizeof(event));
    // Release, so that a reader that sees one of these words also sees the claim.
    for (std::size_t i = 0; i < kWordsAnEvent; ++i) to[i].store(words[i], std::memory_order_release);
  }
  void claim() {
    constexpr std::uint64_t kAhead = 64;  // events for each store of `claimed`
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
  FeedWriter *above_ = nullptr, *below_ = nullptr;  ///< writer of the other tier, in the same feed; may be null (none)
};

}  // namespace canopy
