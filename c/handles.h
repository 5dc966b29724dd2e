#pragma once
/// The structs behind the opaque handles of an engine, its requests and fetches, and a registry.

#include <canopy/c/engine.h>
#include <canopy/engine/engine.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "result.h"

namespace canopy::c {

/// The ranks of one model, by a function of the caller.
class LeastByFunction final : public Agreement {
 public:
  using Function = const char* (*)(void* context, std::int64_t* values, std::size_t count);
  LeastByFunction(Function function, void* context) : function_(function), context_(context) {}
  const char* least(std::span<std::int64_t> values) override {
    return function_(context_, values.data(), values.size());
  }

 private:
  Function function_;
  void* context_;
};

/// Handles that were destroyed while a call of their engine was running, by another thread or by a policy: the call
/// destroys them at its end, since the caller has no handle left. Any thread may add one.
template <class Handle>
class Late {
 public:
  void add(Handle& handle) noexcept {
    if (handle.late.exchange(true)) return;
    handle.next_late = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(handle.next_late, &handle)) {
    }
  }
  template <class Destroy>
  void destroy_all(Destroy&& destroy) {
    for (Handle* handle = first_.exchange(nullptr); handle;) {
      Handle& one = *handle;
      handle = one.next_late;
      one.late = false;
      destroy(one);
    }
  }
  bool any() const { return first_.load(std::memory_order_relaxed) != nullptr; }

 private:
  std::atomic<Handle*> first_ = nullptr;
};

/// Returns the registry of a handle, or that of the plugins that were installed with this library.
std::shared_ptr<Registry> registry_of(canopy_registry* handle);

}  // namespace canopy::c

struct canopy_registry {
  std::shared_ptr<canopy::Registry> registry;
};

/// A handle that the engine keeps for the next request after it was destroyed. So a handle that is used after its end
/// is noticed, unless another request has it.
struct canopy_request {
  enum class Stage : std::uint8_t { destroyed, running, retracted, ended };
  canopy_engine& engine;
  std::optional<canopy::Request> request = {};  ///< empty: it was destroyed
  Stage stage = Stage::destroyed;
  std::atomic<bool> late = false;
  canopy_request* next_late = nullptr;

  /// Takes what begin() returns, which is made in its place: no request is moved.
  template <class Begin>
  void emplace(Begin&& begin) {
    struct Made {
      Begin& begin;
      operator canopy::Request() const { return begin(); }
    };
    request.emplace(Made{begin});
  }
};

struct canopy_engine {
  std::shared_ptr<canopy::Registry> registry;  ///< outlives the engine
  std::unique_ptr<canopy::c::LeastByFunction> agreement;
  canopy::EngineConfig config;
  std::unique_ptr<canopy::Engine> engine;
  const canopy::Ledger* ledger = nullptr;
  std::uint64_t seen = 0;            ///< violations that were reported so far
  std::atomic<bool> inside = false;  ///< true during a call
  std::vector<std::unique_ptr<canopy_request>> requests;
  std::vector<canopy_request*> unused;  ///< those of them that were destroyed
  std::uint64_t fetches = 0;
  canopy::c::Late<canopy_request> late_requests;
  canopy::c::Late<canopy_fetch> late_fetches;

  void destroy(canopy_request& request) noexcept;
  void destroy(canopy_fetch& fetch) noexcept;
  void destroy_late() noexcept {
    while (late_requests.any() || late_fetches.any()) [[unlikely]] {  // a policy may destroy more of them
      late_requests.destroy_all([this](canopy_request& request) { destroy(request); });
      late_fetches.destroy_all([this](canopy_fetch& fetch) { destroy(fetch); });
    }
  }
  std::uint64_t live() const { return requests.size() - unused.size(); }
  /// Returns CANOPY_VIOLATION with the latest report of the ledger.
  canopy_code violated(const char* function);
};

struct canopy_fetch {
  canopy_engine& engine;
  canopy::Fetch fetch;
  std::atomic<bool> late = false;
  canopy_fetch* next_late = nullptr;
};

namespace canopy::c {

/// Marks a call of an engine while it lasts. A function table of the caller that calls the engine is refused; the
/// engine's own guard notices calls of other threads.
class Inside {
 public:
  explicit Inside(canopy_engine& engine) : engine_(engine), free_(!engine.inside.load(std::memory_order_relaxed)) {
    if (free_) engine_.inside.store(true, std::memory_order_relaxed);
  }
  ~Inside() {
    if (!free_) return;
    engine_.destroy_late();
    engine_.inside.store(false, std::memory_order_relaxed);
  }
  Inside(const Inside&) = delete;
  explicit operator bool() const { return free_; }

 private:
  canopy_engine& engine_;
  bool free_;
};

canopy_code fail_inside(const char* function) noexcept;
canopy_code fail_in_stage(const char* function, canopy_request::Stage stage) noexcept;

/// Calls body(engine), which returns a code. A violation during it becomes the code instead.
template <class Body>
canopy_code on_engine(const canopy_engine* handle, const char* function, Body&& body) noexcept {
  if (!handle) [[unlikely]]
    return fail_without(function, "engine");
  canopy_engine& engine = const_cast<canopy_engine&>(*handle);  // a const engine counts violations as well
  const Inside inside(engine);
  if (!inside) [[unlikely]]
    return fail_inside(function);
  return caught(function, [&]() -> canopy_code {
    const canopy_code code = body(engine);
    if (engine.ledger->violations() != engine.seen) [[unlikely]]
      return engine.violated(function);
    return code;
  });
}

/// Does the same for a request that is running; `retracted`: also for one that is retracted, and only for that one.
template <bool retracted = false, class Body>
canopy_code on_request(const canopy_request* handle, const char* function, Body&& body) noexcept {
  if (!handle) [[unlikely]]
    return fail_without(function, "request");
  canopy_request& request = const_cast<canopy_request&>(*handle);
  constexpr auto kWanted = retracted ? canopy_request::Stage::retracted : canopy_request::Stage::running;
  if (request.stage != kWanted) [[unlikely]]
    return fail_in_stage(function, request.stage);
  return on_engine(&request.engine, function, [&](canopy_engine&) { return body(request); });
}

}  // namespace canopy::c
