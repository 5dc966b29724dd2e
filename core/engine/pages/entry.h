#pragma once

#include <canopy/engine/state.h>

namespace canopy {

/// One call from outside the engine, while it lasts. A second call that begins before it has ended, in another thread
/// or from a plugin, is refused and becomes a violation when the first one ends. Costs two atomic writes.
class Entry {
 public:
  /// `call`: its name, a literal.
  Entry(EngineState& state, const char* call) : state_(state) {
    const char* none = nullptr;
    entered_ = state_.inside.compare_exchange_strong(none, call, std::memory_order_acquire, std::memory_order_relaxed);
    if (!entered_) state_.overlapped.store(call, std::memory_order_relaxed);
  }
  ~Entry() {
    if (!entered_) return;
    if (state_.overlapped.load(std::memory_order_relaxed)) tell();
    state_.inside.store(nullptr, std::memory_order_release);
  }
  Entry(const Entry&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  void tell();

  EngineState& state_;
  bool entered_;
};

}  // namespace canopy
