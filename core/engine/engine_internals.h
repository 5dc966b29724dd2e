#pragma once

#include <canopy/engine/engine.h>

#include <xxhash.h>
#include <chrono>

namespace canopy {

/// What a ledger's sentence calls an operation.
constexpr const char* name_of_operation(Operation operation) {
  constexpr const char* kNames[] = {
      "nothing", "match",       "reserve",  "advance", "evict", "insert", "release", "flush", "a change of policy",
      "retract", "a new limit", "a control"};
  return kNames[static_cast<std::size_t>(operation)];
}

/// Adds what passes while it lives to Counters::index_seconds, and keeps the time for the feed.
class Engine::IndexTimer {
 public:
  explicit IndexTimer(Engine& engine) : engine_(engine), start_(std::chrono::steady_clock::now()) {}
  ~IndexTimer() {
    const auto end = std::chrono::steady_clock::now();
    engine_.counters_.index_seconds += std::chrono::duration<double>(end - start_).count();
    engine_.elapsed_us_ =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(end - engine_.began_).count());
  }
  IndexTimer(const IndexTimer&) = delete;

 private:
  Engine& engine_;
  std::chrono::steady_clock::time_point start_;
};

struct Engine::Digest {
  enum class Step : std::uint64_t { begin = 1, reserve, evict, commit, end, flush, retract, resume, resize, move };
  XXH3_state_t* state = XXH3_createState();
  Digest() { XXH3_64bits_reset(state); }
  ~Digest() { XXH3_freeState(state); }
  Digest(const Digest&) = delete;

  void take(Step step, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(step), a, b, c};
    XXH3_64bits_update(state, words, sizeof(words));
  }
  void take(std::span<const Page> pages) { XXH3_64bits_update(state, pages.data(), pages.size_bytes()); }
};

struct Engine::WordScratch final : Scratch {
  std::vector<std::uint32_t> room;
  std::span<std::uint32_t> words(std::size_t count) override {
    if (room.size() < count) room.resize(count);
    return {room.data(), count};
  }
};

}  // namespace canopy
