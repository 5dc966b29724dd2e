#pragma once

#include <canopy/types.h>

#include <atomic>
#include <bit>
#include <cstring>

namespace canopy {

/// What happened, as the inspector, recordings and `canopy top` read it. An operation's events come first and its
/// `commit` last: a reader takes whole commits or nothing. A keyframe is the events that would build what there is.
enum class EventKind : std::uint8_t {
  // Of an index. `node` names the node; `group` the KV cache group where it matters.
  node_added = 1,  ///< extra: namespace; a: slot of its parent, 0 a root | length << 32; flags: groups with
                   ///< pages; b: the request in whose row they stand at its depth, 0: node_pages tells them
  node_named,      ///< a: digest of its first page's words (XXH3 with the feed's key); b: tick of its creation
  node_words,      ///< only if the feed carries tokens. extra: first of up to 4 words in a (low, high), b
  node_pages,      ///< extra: first page of the node that follows; a, b: runs of page numbers (run_of)
  node_split,      ///< node keeps its end; a: the new upper half, like it but for b: units; extra: inserts
  node_removed,    ///< with its pages in all groups; flags 1: its parent takes over its inserts and priority,
                   ///< and its last access where the first group is one of whole paths
  node_emptied,    ///< its pages of `group` have left: a gap
  node_used,       ///< a match ended here: a hit for every node up to the root, and a lock; a: tick;
                   ///< b: depth at which that begins to hold the first group; locked tells of the others
  node_created,    ///< a: tick of its creation, where a split made it anew (accounting: sglang)
  node_facts,      ///< extra: priority; a: last access; b: hits | inserts << 32
  node_held,       ///< in a keyframe: a: locks that hold it in `group`
  node_ranked,     ///< it waits to leave `group` with this rank; a: major, b: minor
  locked,          ///< a lock ends here; a: depth at which it begins to hold the group
  unlocked,        ///< one of those is gone; a: as above
  relocked,        ///< one of those ends here now; extra: depth as above; a: node where it ended; b: its depth there
  relaxed,         ///< one of those holds less now; a: from depth, b: from depth now
  cleared,         ///< the index forgot everything
  // Of an engine. `node` is the number of a request unless it says otherwise.
  request_begun,  ///< extra: prompt tokens; a: tokens matched | namespace << 32
  request_pages,  ///< pages of its own, at place `extra` of its row of `group`, which ends with them; a, b: runs
  request_moved,  ///< flags: RequestPhase; extra: tokens computed; a: tokens committed; b: tokens known
  freed,          ///< pages of nobody now; group; a, b: runs
  pool_sized,     ///< group; extra: pages of a segment; a: pages that are free or somebody's; b: its limit
  text,           ///< node: TextKind | index << 8; extra: first byte, | 1 << 31 in the last piece; flags bytes in a, b
  keyframe,       ///< forget everything: what follows up to the commit is all there is
  totals,         ///< of some commits, to compare one's own sums with; group; extra: pages held by requests;
                  ///< node: free pages; a: evictable units; b: protected units
  commit,         ///< extra: Operation; node: tick; a: operations so far; b: microseconds since the engine began
  pool_segment,   ///< group; node: its number; flags: PoolSegment::State; extra: pages out that leave; a: pages offered
  pinned,         ///< node: of an index; a: 1 a person keeps it and its path, 0 no more; the lock is told as locks are
};

enum class RequestPhase : std::uint16_t { running, committed, finished, aborted, retracted, resumed };
/// space, group and policy are numbered as namespaces and groups are; plugin and refusal are lines of a list; paused
/// is why the engine stands still, empty while it runs.
enum class TextKind : std::uint8_t { space, group, policy, config, plugin, refusal, paused };
enum class Operation : std::uint32_t {
  none,
  begin,
  reserve,
  advance,
  evict,
  insert,
  release,
  flush,
  policy,
  retract,
  resize,
  control,  ///< a person paused, let go on, pinned or unpinned
};

/// 32 bytes, the same on the heap, in shared memory and in a file.
struct Event {
  EventKind kind{};
  std::uint8_t group = 0;
  std::uint16_t flags = 0;
  std::uint32_t extra = 0;
  std::uint64_t node = 0, a = 0, b = 0;
};
static_assert(sizeof(Event) == 32 && std::is_trivially_copyable_v<Event>);

/// A run of page numbers in one word; 0: none.
constexpr std::uint64_t run_of(Page first, std::uint32_t count) { return first | std::uint64_t{count} << 32; }

/// A feed called NAME is the shared memory object kFeedPrefix + NAME, readable by its user alone.
inline constexpr const char* kFeedPrefix = "/canopy-";

/// What an engine that was told run_until waits for; looked at after each of its operations.
enum class Condition : std::uint32_t {
  evicted,   ///< pages of `group` were evicted
  missed,    ///< a request of namespace `amount` (kAnySpace: of any) found less than all whole pages it could reuse
  request,   ///< request number `amount`, or one after it, began
  hit_rate,  ///< of the prompt tokens of the last 64 requests, all begun since it was asked, less than `amount` in
             ///< a thousand were found
  free,      ///< fewer than `amount` pages of `group` are free
};
inline constexpr std::uint64_t kAnySpace = ~std::uint64_t{0};

/// What a person at an inspector asks of an engine that allows it.
struct Command {
  enum class Kind : std::uint32_t { pause, go_on, step, evict, flush, policy, run_until, pin, unpin, resize };
  Kind kind{};
  std::uint32_t group = 0;
  std::uint64_t amount = 0;  ///< step: operations; evict: pages; flush: namespace; run_until: see Condition;
                             ///< pin, unpin: id of a node; resize: tokens
  char name[36] = {};        ///< policy
  Condition until{};         ///< run_until
};
static_assert(sizeof(Command) == 56);

/// In front of the events, a page of its own.
struct FeedHeader {
  static constexpr char kMagic[8] = {'c', 'a', 'n', 'o', 'p', 'y', 'f', '2'};  ///< the last is the format's version
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kCommands = 16;

  alignas(8) char magic[8];
  std::uint32_t event_bytes;  ///< 32
  std::uint32_t page_size, overlap, groups;
  std::uint64_t reaches[kMaxGroups];
  std::uint64_t capacity;          ///< events of the ring, a power of two; 0: a file, which is no ring
  std::uint64_t pid;               ///< of the writer
  std::uint32_t tokens, controls;  ///< whether it carries tokens; whether it takes commands
  char name[64];

  alignas(64) std::atomic<std::uint64_t> claimed;           ///< may be half written up to here
  std::atomic<std::uint64_t> committed;                     ///< whole operations up to here
  std::atomic<std::uint32_t> closed;                        ///< the writer has gone, in peace
  alignas(64) std::atomic<std::uint64_t> keyframes_wanted;  ///< readers add, the engine answers
  std::atomic<std::uint32_t> readers;                       ///< attached, or dead and not yet missed by the writer
  alignas(64) std::atomic<std::uint64_t> posted;            ///< commands
  std::atomic<std::uint64_t> taken;                         ///< of them, by the engine
  struct Slot {
    std::atomic<std::uint64_t> ready;  ///< number of the command in it, from 1
    Command command;
  } commands[kCommands];

  /// The writer's last word in it. Until then it has not begun, and nothing in it counts.
  void begin() { mark().store(std::bit_cast<std::uint64_t>(kMagic), std::memory_order_release); }
  bool begun() { return mark().load(std::memory_order_acquire) != 0; }

 private:
  std::atomic_ref<std::uint64_t> mark() { return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(magic)); }
};
static_assert(sizeof(FeedHeader) <= FeedHeader::kBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The writing end: one thread, any number of readers, no locks, and it never waits. When nobody listens it costs
/// a branch. REQUIRES: `words` has room for `capacity` events of four words each.
class FeedWriter {
 public:
  using Word = std::atomic<std::uint64_t>;
  FeedWriter(FeedHeader& header, Word* words, std::uint64_t capacity)
      : header_(header), words_(words), mask_(capacity - 1) {}
  FeedWriter(const FeedWriter&) = delete;

  bool on() const { return on_; }
  void push(const Event& event) {
    if (at_ == claimed_) claim();
    // The ring is larger than a cache: its lines are asked for before they are written.
    constexpr std::uint64_t kAhead = 32;
    __builtin_prefetch(words_ + ((at_ + kAhead) & mask_) * 4, 1);
    Word* to = words_ + (at_++ & mask_) * 4;
    std::uint64_t words[4];
    std::memcpy(words, &event, sizeof(event));
    // Release, so that a reader who sees one of these also sees that the place was claimed.
    for (int i = 0; i < 4; ++i) to[i].store(words[i], std::memory_order_release);
  }
  /// Events of `kind` for runs of pages, two to an event: add() them in the order of their places, then end().
  class PageRuns {
   public:
    PageRuns(FeedWriter& feed, EventKind kind, std::uint64_t node, std::size_t group)
        : feed_(feed), event_{kind, static_cast<std::uint8_t>(group), 0, 0, node, 0, 0} {}
    void add(std::size_t place, Page first, std::size_t count) {
      const std::uint64_t run = run_of(first, static_cast<std::uint32_t>(count));
      // The second run of an event follows the first without a gap.
      if (event_.a != 0 && event_.extra + (event_.a >> 32) == place) {
        event_.b = run;
        end();
      } else {
        end();
        event_.extra = static_cast<std::uint32_t>(place);
        event_.a = run;
      }
    }
    void end() {
      if (event_.a != 0) feed_.push(event_);
      event_.a = event_.b = 0;
    }

   private:
    FeedWriter& feed_;
    Event event_;
  };
  /// The pages of places [first_place, places); that of place i is pages[i * stride], and 0 is skipped.
  void push_pages(EventKind kind, std::uint64_t node, std::size_t group, std::size_t first_place, std::size_t places,
                  const Page* pages, std::size_t stride = 1) {
    PageRuns runs(*this, kind, node, group);
    for (std::size_t i = first_place; i < places;) {
      const Page first = pages[i * stride];
      std::size_t end = i + (stride == 1 ? pages_in_a_row(pages + i, places - i) : 1);
      while (stride != 1 && end < places && pages[end * stride] == first + (end - i)) ++end;
      if (first == 0) end = i + 1;
      else runs.add(i, first, end - i);
      i = end;
    }
    runs.end();
  }
  /// Everything pushed so far is a whole.
  void publish() { header_.committed.store(at_, std::memory_order_release); }

  void turn(bool on) { on_ = on; }
  /// Keys the digests of node_named, so that a recording does not give prompts away to who can guess them. 0 where
  /// the feed carries the tokens anyway: then a reader can make the same digests.
  std::uint64_t digest_key() const { return digest_key_; }
  void use_digest_key(std::uint64_t key) { digest_key_ = key; }
  std::uint64_t at() const { return at_; }
  /// While an insert runs: the request that brings its pages, all of which were told as the request's at the depth
  /// where they stand. 0: nobody that the feed knows.
  std::uint64_t bringer() const { return bringer_; }
  void brought_by(std::uint64_t request) { bringer_ = request; }
  /// Called when a claim would run into events not yet taken away: a file's writer empties the buffer.
  void empty_with(void (*empty)(void*), void* who) { empty_ = empty, who_ = who; }
  FeedHeader& header() { return header_; }

 private:
  void claim() {
    constexpr std::uint64_t kAhead = 64;  // one store of `claimed` for so many events
    if (empty_ && (at_ & mask_) == 0 && at_ != 0) empty_(who_);
    claimed_ = at_ + (mask_ + 1 < kAhead ? mask_ + 1 : kAhead);
    header_.claimed.store(claimed_, std::memory_order_relaxed);
  }

  FeedHeader& header_;
  Word* words_;
  std::uint64_t mask_, at_ = 0, claimed_ = 0;
  bool on_ = false;
  std::uint64_t digest_key_ = 0;
  void (*empty_)(void*) = nullptr;
  void* who_ = nullptr;
  std::uint64_t bringer_ = 0;
};

/// The reading end of a ring. Many may read at once; each asks for a keyframe when it comes or was lapped.
class FeedReader {
 public:
  FeedReader(FeedHeader& header, const FeedWriter::Word* words, std::uint64_t capacity)
      : header_(header), words_(words), mask_(capacity - 1), at_(header.committed.load(std::memory_order_acquire)) {
    header_.readers.fetch_add(1);
    header_.keyframes_wanted.fetch_add(1);
  }
  ~FeedReader() { header_.readers.fetch_sub(1); }
  FeedReader(const FeedReader&) = delete;

  enum class Outcome { nothing, events, lapped };
  /// Copies committed events, at most `room` of them, and says how many. After `lapped` what comes begins
  /// somewhere in the middle: skip to the next keyframe, which has been asked for.
  Outcome read(Event* into, std::size_t room, std::size_t& count) {
    count = 0;
    const std::uint64_t end = header_.committed.load(std::memory_order_acquire);
    if (end == at_) return Outcome::nothing;
    const std::uint64_t take = end - at_ < room ? end - at_ : room;
    if (end - at_ <= mask_ + 1) {
      for (std::uint64_t i = 0; i < take; ++i) {
        std::uint64_t words[4];
        const FeedWriter::Word* from = words_ + ((at_ + i) & mask_) * 4;
        for (int w = 0; w < 4; ++w) words[w] = from[w].load(std::memory_order_acquire);
        std::memcpy(into + i, words, sizeof(words));
      }
      if (header_.claimed.load(std::memory_order_relaxed) <= at_ + mask_ + 1) {
        at_ += take;
        count = take;
        return Outcome::events;
      }
    }
    at_ = end;
    header_.keyframes_wanted.fetch_add(1);
    return Outcome::lapped;
  }
  FeedHeader& header() const { return header_; }

 private:
  FeedHeader& header_;
  const FeedWriter::Word* words_;
  std::uint64_t mask_, at_;
};

}  // namespace canopy
