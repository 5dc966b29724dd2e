#pragma once

#include <cache/cache_state.h>
#include <cache/guard/sentence.h>

namespace canopy {

/// Marks one call from outside the engine while it lasts. A second call that begins before its end, in another thread
/// or from a plugin, is refused, and becomes a violation when the first one ends. Costs two atomic writes.
class CallGuard {
 public:
  /// `call`: name of the call, a literal.
  CallGuard(CacheState& state, const char* call) : state_(state) {
    const char* none = nullptr;
    entered_ = state_.inside.compare_exchange_strong(none, call, std::memory_order_acquire, std::memory_order_relaxed);
    if (!entered_) state_.overlapped.store(call, std::memory_order_relaxed);
  }
  ~CallGuard() {
    if (!entered_) return;
    if (state_.overlapped.load(std::memory_order_relaxed)) report();
    state_.inside.store(nullptr, std::memory_order_release);
  }
  CallGuard(const CallGuard&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  [[gnu::cold, gnu::noinline]] void report() {
    const char* const refused = state_.overlapped.exchange(nullptr, std::memory_order_relaxed);
    state_.ledger.violated(
        Sentence("{} was called while {} was running, and did nothing: an engine and its requests "
                 "are for one thread, and its plugins may not call it",
                 refused, state_.inside.load(std::memory_order_relaxed)));
  }

  CacheState& state_;
  bool entered_;
};

}  // namespace canopy
