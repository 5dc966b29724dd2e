#pragma once

#include <canopy/key_codec.h>
#include <canopy/kv_store.h>
#include <canopy/page_storage.h>
#include <canopy/slot_allocator.h>

#include <new>
#include <optional>
#include <unordered_map>
#include <vector>

#include "port.h"

namespace canopy {

/// An allocator whose counts are checked. Pool checks the pages themselves.
class AllocatorPort final : public Port<SlotAllocator> {
 public:
  using Port::Port;

  Occupancy occupancy() const {
    const Occupancy now = read("occupancy", &SlotAllocator::occupancy);
    return now.capacity == offered_ && now.free <= offered_ ? now : possible(now);
  }
  /// Return false if the allocator threw: it has not changed.
  bool offer(Segment segment) {
    if (!done("offer", &SlotAllocator::offer, segment)) return false;
    offered_ += counted(segment);
    return true;
  }
  bool withdraw(Segment segment) {
    if (!done("withdraw", &SlotAllocator::withdraw, segment)) return false;
    offered_ -= counted(segment);
    return true;
  }
  /// Returns the pages of the segment that are in use.
  std::uint32_t out(Segment segment) const;

 private:
  static std::uint64_t counted(Segment segment) { return segment.pages - (segment.first == 0 && segment.pages > 0); }
  Occupancy possible(Occupancy reported) const;

  std::uint64_t offered_ = 0;  ///< Pages offered and not withdrawn, without page 0.
};

/// The words of a request's tokens. They grow as the tokens do.
class KeyWords final : public Scratch {
 public:
  /// Forgets the words, and keeps their memory for other tokens.
  void clear() { known_ = 0; }
  /// Returns room behind the known words.
  std::span<std::uint32_t> words(std::size_t count) override {
    lacks_ = true;
    if (room_.size() < known_ + count) room_.resize(known_ + count);
    lacks_ = false;
    return {room_.data() + known_, count};
  }

 private:
  friend class CodecPort;
  std::vector<std::uint32_t> room_;
  std::size_t known_ = 0;  ///< words at the start of `room_` that are final
  bool lacks_ = false;     ///< words() found no memory
};

/// A codec that returns one word for each token. If the component fails to, the port makes words that no other request
/// has, so that nothing is reused.
class CodecPort final : public Port<KeyCodec> {
 public:
  static constexpr Units kMostOverlap = 64;
  using Port::Port;

  Units overlap() const { return call("overlap", &KeyCodec::overlap); }
  /// Returns the words of `tokens`, valid until `known` or the tokens change. Makes those that `known` lacks, and adds
  /// them to it, unless the words are the tokens. Throws std::bad_alloc if `known` finds no memory. REQUIRES: `known`
  /// is empty, or has words of the first of these tokens.
  std::span<const std::uint32_t> encode(std::span<const Token> tokens, KeyWords& known) const;

 private:
  std::span<const std::uint32_t> make(std::span<const Token> tokens, KeyWords& known) const;

  mutable std::uint64_t made_ = 0;
};

/// A store whose shape is checked.
class StorePort final : public Port<KVStore> {
 public:
  using Port::Port;

  /// Returns an error message if the store cannot keep pages of this size, else an empty text. REQUIRES: called first.
  std::string flaw(Units page_size);
  std::span<const Stream> streams() const { return streams_; }
  const KVView& view() const { return *view_; }
  /// Waits for all copies. Returns null, or an error message that starts with the store's name.
  const char* sync();
  /// Queue copies of whole pages, as KVImages. Return 0 if they are already done; nothing, and record a violation, if
  /// the store could not make them.
  std::optional<std::uint64_t> begin_save(std::span<const Page> from, std::span<std::byte* const> images) {
    return begun("begin_save", [&](KVStore& store) { return store.begin_save(from, images); });
  }
  std::optional<std::uint64_t> begin_load(std::span<const std::byte* const> images, std::span<const Page> to) {
    return begun("begin_load", [&](KVStore& store) { return store.begin_load(images, to); });
  }
  /// Copies the rows of pages, and waits for them. Returns false, and records a violation, if the store could not.
  bool copy(std::span<const Page> from, std::span<const Page> to) {
    const bool queued = done("copy", &KVStore::copy, from, to);
    return settled() && queued;
  }
  /// Waits for all queued calls. Returns false, and records a violation, if the store has failed since the last time.
  bool settled();
  /// Returns the number of failures reported so far: each may be that of any copy that was queued then.
  std::uint64_t failures() const { return failures_; }

 private:
  /// A store that has failed returns 0, too: it is asked, and has nothing to wait for.
  template <class Begin>
  std::optional<std::uint64_t> begun(const char* name, Begin&& begin) {
    std::optional<std::uint64_t> ticket;
    call(name, [&](KVStore& store) { ticket = begin(store); });
    if (!ticket) ++failures_;
    if (ticket == 0 && !settled()) return {};
    return ticket;
  }
  const char* wait();
  std::string flaw_of(const KVView& view, std::uint32_t layers, Units page_size) const;

  const KVView* view_ = nullptr;
  std::span<const Stream> streams_;
  std::optional<Sentence> failure_;
  std::uint64_t failures_ = 0;
};

/// A storage whose calls each end exactly once, with a result that fits the call. A call that throws has failed, and
/// ends in the next poll().
class StoragePort final : public Port<PageStorage> {
 public:
  using Port::Port;

  /// Returns the traits of the storage. Zero records in a batch count as 1.
  StorageTraits traits() const;
  // Each returns false, and has not called the storage, if the system has no memory.
  bool find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys, std::uint64_t within_us) {
    return begin("find", ticket, keys.size(),
                 [&](PageStorage& storage) { storage.find(ticket, space, keys, within_us); });
  }
  bool find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys, std::uint64_t within_us) {
    return begin("find_each", ticket, keys.size(),
                 [&](PageStorage& storage) { storage.find_each(ticket, space, keys, within_us); });
  }
  bool get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) {
    return begin("get", ticket, keys.size(),
                 [&](PageStorage& storage) { storage.get(ticket, space, keys, records, within_us); });
  }
  bool put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) {
    return begin("put", ticket, keys.size(),
                 [&](PageStorage& storage) { storage.put(ticket, space, keys, records, within_us, keep_s); });
  }
  std::size_t poll(std::span<StorageDone> done);
  /// Returns true if poll() of the storage threw for another reason than a lack of memory, or reported more ends than
  /// there was room for, several times. It is not polled any more: one fault is not a violation every few microseconds,
  /// and its calls never end.
  bool is_broken() const { return bad_polls_ >= kMostBadPolls; }

 private:
  static constexpr int kMostBadPolls = 3;
  struct Open {
    std::size_t records = 0;
    bool counts = false, threw = false;  ///< counts: it ends with a number in place of fates
  };
  template <class Begin>
  bool begin(const char* name, std::uint64_t ticket, std::size_t records, Begin&& begins) noexcept {
    Open* open = nullptr;
    try {
      if (fates_.capacity() < records) fates_.reserve(records);
      open = &(open_[ticket] = {records, std::string_view(name) == "find", true});
    } catch (const std::bad_alloc&) {
      return false;
    }
    call(name, [&](PageStorage& storage) { begins(storage), open->threw = false; });
    threw_ += open->threw;
    return true;
  }
  bool fits(const StorageDone& done, const Open& open) const;
  StorageDone as_failed(std::uint64_t ticket, const Open& open);

  std::unordered_map<std::uint64_t, Open> open_;  ///< Open calls by ticket.
  std::size_t threw_ = 0;                         ///< Calls in `open_` that threw.
  std::vector<Fate> fates_;                       ///< Results of calls that failed here.
  int bad_polls_ = 0;
};

}  // namespace canopy
