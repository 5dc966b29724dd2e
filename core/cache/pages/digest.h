#pragma once

#include <canopy/types.h>

#include <xxhash.h>

#include <span>

namespace canopy {

/// Hashes an engine's decisions, step by step. The same input gives the same digest on any compiler.
class Digest {
 public:
  enum class Step : std::uint64_t {
    begin = 1,
    reserve,
    evict,
    commit,
    end,
    flush,
    retract,
    resume,
    resize,
    relocate,
    rematch,
    copy,
    arrive,
    fetch,
    put,
    bring
  };
  Digest() { XXH3_64bits_reset(state_); }
  ~Digest() { XXH3_freeState(state_); }
  Digest(const Digest&) = delete;

  void take(Step step, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(step), a, b, c};
    XXH3_64bits_update(state_, words, sizeof(words));
  }
  void take(std::span<const Page> pages) { XXH3_64bits_update(state_, pages.data(), pages.size_bytes()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_ = XXH3_createState();
};

}  // namespace canopy
