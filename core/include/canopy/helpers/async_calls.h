#pragma once

#include <canopy/helpers/at_fork.h>
#include <canopy/page_storage.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <ranges>
#include <vector>

namespace canopy {

/// Returns microseconds of a monotonic clock.
inline std::uint64_t monotonic_us() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// A call of a storage, from its beginning to its report. An object serves one call after the other, and keeps its
/// memory. A transport derives a struct from it for fields of its own.
struct AsyncCall {
  /// remove, flush: for calls that a transport makes itself, to queue these like the others.
  enum class Kind : std::uint8_t { find, find_each, get, put, remove, flush };
  Kind kind = Kind::find;
  std::uint64_t ticket = 0;
  PageKey space;
  std::vector<PageKey> keys;
  std::vector<std::byte*> records;  ///< get, put: memory of each record; that of a put is only read
  std::uint64_t until_us = 0;       ///< time limit, of monotonic_us()
  std::uint32_t keep_s = 0;         ///< put: as in PageStorage
  /// Result for each key, to be set by the transport; at first `failed`. A find needs those up to the first one that is
  /// not `done`.
  std::vector<Fate> fates;

  // Set by AsyncCalls; to be read in the caller's thread.
  bool flushed = false;  ///< its space was flushed since it began: a put keeps nothing
  bool has_ended = false;

  /// Ends a put's path at the first record that was not kept: the others get its fate. Returns the records before it.
  std::size_t cut() {
    const auto bad = std::ranges::find_if(fates, [](Fate fate) { return fate != Fate::done; });
    if (bad != fates.end()) std::fill(bad, fates.end(), *bad);
    return static_cast<std::size_t>(bad - fates.begin());
  }
  /// Returns the result for the caller. What was found of a space that was flushed meanwhile counts as absent.
  StorageDone report() {
    if (flushed && kind != Kind::put) std::ranges::replace(fates, Fate::done, Fate::absent);
    if (kind != Kind::find) return {ticket, fate_of(fates), 0, fates};
    const auto found = std::ranges::find_if(fates, [](Fate fate) { return fate != Fate::done; }) - fates.begin();
    const bool unknown = found == 0 && fates[0] != Fate::absent;
    return {ticket, unknown ? fates[0] : Fate::done, static_cast<std::uint32_t>(found), {}};
  }
};

/// The calls of a storage that are not reported yet. Its functions are called in the caller's thread, unless they say
/// otherwise.
template <class Call>
class AsyncCalls {
 public:
  AsyncCalls() = default;
  ~AsyncCalls() {
    const auto none = AtFork::no_fork();  // leave() would close it as well
    close_descriptor();
  }
  AsyncCalls(const AsyncCalls&) = delete;

  // For the transport:
  /// Ends a call whose fates are set: the next poll() reports it. The transport must not use it afterwards. Takes no
  /// memory. From any thread.
  void end(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    call.has_ended = true;
    ended_.push_back(&call);
    show();
  }
  /// Ends all calls as failed, those to come as well: the transport is never called again. It must not be using a call.
  /// From any thread.
  void break_down() noexcept {
    const std::lock_guard lock(mutex_);
    fail_all();
    show();
  }
  /// Returns true after break_down(). From any thread.
  bool is_broken() const noexcept {
    const std::lock_guard lock(mutex_);
    return broken_;
  }
  /// Returns the calls that have not ended, in the order in which they began. Calls may end, but not begin, while they
  /// are visited. REQUIRES: the transport ends its calls in the caller's thread.
  auto pending() const {
    return open_ | std::views::filter([](const Call* call) { return !call->has_ended; });
  }
  /// Makes a descriptor, which is readable while poll() has a result. The transport may make it readable for its own
  /// events, and then calls clear_descriptor() in each advance(). Returns false, and sets errno, if there is none.
  bool open_descriptor() {
    const auto none = AtFork::no_fork();  // no child gets it before leave() would close it there
    event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return event_ >= 0;
  }
  int descriptor() const { return event_; }
  void clear_descriptor() {
    eventfd_t count = 0;
    ::eventfd_read(event_, &count);
    const std::lock_guard lock(mutex_);
    shown_ = false;
  }

  // For AsyncStorage:
  /// Returns a call to fill in. It stays unused until begin().
  Call& blank() {
    if (!unused_.empty()) return *unused_.back();
    // An open call may be in `ended_` as well; otherwise each is in one list. So none of them grows later.
    const std::lock_guard lock(mutex_);
    for (auto* const list : {&unused_, &open_, &ended_, &reported_})
      if (list->capacity() <= all_.size()) list->reserve(2 * all_.size() + 8);
    unused_.push_back(&all_.emplace_back());
    return *unused_.back();
  }
  /// Opens the call that blank() has returned. Returns false if it has ended at once, since the storage has broken
  /// down.
  bool begin(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    unused_.pop_back();
    open_.push_back(&call);
    call.flushed = call.has_ended = false;
    if (broken_) fail(call), show();
    return !broken_;
  }
  /// Closes a call that could not begin.
  void take_back(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(open_, &call);
    std::erase(ended_, &call);
    unused_.push_back(&call);
  }
  /// Marks the calls of a space that is flushed now.
  void flush(const PageKey& space) noexcept {
    for (Call* const call : open_) call->flushed |= call->space == space;
  }
  /// Calls advance(). What ends meanwhile is reported next, and needs no signal.
  template <class Advance>
  void advance(Advance&& advance) {
    const auto set = [&](bool advances) {
      const std::lock_guard lock(mutex_);
      advances_ = advances;
      if (!advances) show();
    };
    set(true);
    try {
      advance();
    } catch (...) {
      set(false);
      throw;
    }
  }
  /// Reports calls as PageStorage::poll().
  std::size_t report(std::span<StorageDone> done) noexcept {
    unused_.insert(unused_.end(), reported_.begin(), reported_.end());
    reported_.clear();
    const std::lock_guard lock(mutex_);
    advances_ = false;
    const std::size_t count = std::min(done.size(), ended_.size());
    for (std::size_t i = 0; i < count; ++i) {
      done[i] = ended_[i]->report();
      std::erase(open_, ended_[i]);
      reported_.push_back(ended_[i]);
    }
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
    show();
    return count;
  }
  /// Makes the descriptor readable if a call has ended.
  void signal() noexcept {
    const std::lock_guard lock(mutex_);
    show();
  }
  /// Returns true in a child that was forked since the constructor: there all calls have failed.
  bool is_left() const { return fork_.left(); }

 private:
  void fail(Call& call) noexcept {
    std::ranges::fill(call.fates, Fate::failed);
    call.has_ended = true;
    ended_.push_back(&call);
  }
  void fail_all() noexcept {
    broken_ = true;
    for (Call* const call : open_)
      if (!call->has_ended) fail(*call);
  }
  void show() noexcept {
    const bool readable = !ended_.empty() && !advances_;
    if (event_ < 0 || readable == shown_) return;
    shown_ = readable;
    eventfd_t count = 1;
    if (readable) ::eventfd_write(event_, count);
    else ::eventfd_read(event_, &count);
  }
  void close_descriptor() noexcept {
    if (event_ >= 0) ::close(event_);
    event_ = -1;
  }
  /// The child has no other thread, and one of its parent may have had the mutex and been at `ended_`.
  static void leave(void* calls) noexcept {
    auto& own = *static_cast<AsyncCalls*>(calls);
    own.close_descriptor();
    std::construct_at(&own.mutex_);
    own.ended_.clear();
    for (Call* const call : own.open_) call->has_ended = false;
    own.fail_all();
  }

  std::deque<Call> all_;
  std::vector<Call*> unused_, reported_;  ///< reported_: by the last poll(), whose spans are those of the calls
  std::vector<Call*> open_;               ///< calls that have begun and are not reported
  mutable std::mutex mutex_;              ///< for the following, and for changes of open_
  std::vector<Call*> ended_;
  bool broken_ = false, advances_ = false, shown_ = false;
  int event_ = -1;  ///< an eventfd; -1: none
  AtFork fork_{leave, this};
};

/// The part of a storage that its author writes: how records get to their place and back. All functions are called in
/// one thread, the caller's.
///
///   class Disk final : public StorageTransport<> { ... };   // Config, a constructor (config, context), and these
///   CANOPY_PLUGIN("1.0.0", provide<PageStorage, AsyncStorage<Disk>>("disk", "records on a disk"));
///
/// Exceptions: std::bad_alloc, and only from begin(), advance(), remove() and flush().
template <class CallOfIt = AsyncCall>
class StorageTransport {
 public:
  using Call = CallOfIt;
  virtual ~StorageTransport() = default;

  virtual StorageTraits traits() const = 0;
  /// As in PageStorage. Called also after AsyncCalls::break_down().
  virtual StorageUse use() const = 0;
  virtual void use_memory(std::span<std::byte> memory) { static_cast<void>(memory); }
  /// Begins a find, a find_each, a get or a put: sets its fates and calls calls_.end(), at once or later, and once. An
  /// exception means that nothing of it has begun.
  virtual void begin(Call& call) = 0;
  virtual void remove(const PageKey& space, std::span<const PageKey> keys) = 0;
  /// As in PageStorage. The calls of the space are marked as flushed.
  virtual bool flush(const PageKey& space) = 0;
  /// Ends calls that can end now. Called by each poll(), which then reports `most` ended calls at most. For a transport
  /// that ends its calls in the caller's thread.
  virtual void advance(std::size_t most) { static_cast<void>(most); }

 protected:
  AsyncCalls<Call> calls_;

 private:
  template <class Transport>
  friend class AsyncStorage;
};

/// A storage over a transport, which keeps the books: tickets, keys, fates, what was flushed, what poll() reports.
///
/// It belongs to one process. In a forked child, which has a copy of its memory only, each call ends as failed in the
/// next poll(), also a call that was pending at the fork. The child never calls the transport, and never destroys it:
/// its state is that of a moment, and its threads do not exist. So the parent goes on undisturbed. Descriptors, such as
/// sockets and locks, the transport leaves to the parent itself (AtFork).
template <class Transport>
class AsyncStorage final : public PageStorage {
 public:
  using Config = typename Transport::Config;
  AsyncStorage(const Config& config, const Context& context)
      : transport_(std::make_unique<Transport>(config, context)), traits_(transport_->traits()) {}
  ~AsyncStorage() override {
    if (calls().is_left()) static_cast<void>(transport_.release());
  }
  AsyncStorage(const AsyncStorage&) = delete;

  StorageTraits traits() const override { return traits_; }
  void use_memory(std::span<std::byte> memory) override {
    if (!calls().is_left()) transport_->use_memory(memory);
  }
  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override {
    begin(AsyncCall::Kind::find, ticket, space, keys, {}, within_us);
  }
  void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                 std::uint64_t within_us) override {
    begin(AsyncCall::Kind::find_each, ticket, space, keys, {}, within_us);
  }
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override {
    begin(AsyncCall::Kind::get, ticket, space, keys, records, within_us);
  }
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override {
    const auto only_read = const_cast<std::byte* const*>(records.data());
    begin(AsyncCall::Kind::put, ticket, space, keys, {only_read, records.size()}, within_us, keep_s);
  }
  void remove(const PageKey& space, std::span<const PageKey> keys) override {
    if (!calls().is_broken()) transport_->remove(space, keys);
  }
  bool flush(const PageKey& space) override {
    calls().flush(space);
    const bool lasts = !calls().is_broken() && transport_->flush(space);
    calls().signal();
    return lasts;
  }

  std::size_t poll(std::span<StorageDone> done) override {
    if (!calls().is_broken()) calls().advance([&] { transport_->advance(done.size()); });
    return calls().report(done);
  }
  int descriptor() const override { return calls().descriptor(); }
  StorageUse use() const override { return calls().is_left() ? StorageUse() : transport_->use(); }

 private:
  using Calls = AsyncCalls<typename Transport::Call>;
  Calls& calls() { return transport_->calls_; }
  const Calls& calls() const { return transport_->calls_; }

  void begin(AsyncCall::Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
             std::span<std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s = 0) {
    auto& call = calls().blank();
    call.kind = kind, call.ticket = ticket, call.space = space, call.keep_s = keep_s;
    call.keys.assign(keys.begin(), keys.end());
    call.records.assign(records.begin(), records.end());
    call.fates.assign(keys.size(), Fate::failed);
    const std::uint64_t now = monotonic_us();
    call.until_us = now + std::min(within_us, kUnlimited - now);
    if (!calls().begin(call)) return;
    try {
      transport_->begin(call);
    } catch (...) {
      calls().take_back(call);
      throw;
    }
  }

  std::unique_ptr<Transport> transport_;
  const StorageTraits traits_;
};

}  // namespace canopy
