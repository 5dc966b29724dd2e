#pragma once

#include <canopy/engine.h>

#include <xxhash.h>
#include <chrono>

namespace canopy {

/// Adds what passes while it lives to Counters::index_seconds.
class Engine::IndexTimer {
 public:
  explicit IndexTimer(Engine& engine) : engine_(engine), start_(std::chrono::steady_clock::now()) {}
  ~IndexTimer() {
    engine_.counters_.index_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  IndexTimer(const IndexTimer&) = delete;

 private:
  Engine& engine_;
  std::chrono::steady_clock::time_point start_;
};

struct Engine::Digest {
  enum class Step : std::uint64_t { begin = 1, reserve, evict, commit, end, flush, retract, resume };
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
